"""The commands: a file for each, called as the command, whose function `run` is marked `command`.

The signature is the command line, the docstring its help, and the body one call of the library. A
command is imported when it is called or listed; its module imports simulation, identification and
views inside its functions, so that help is quick.
"""
