// scripts of the workbench
