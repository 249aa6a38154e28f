// A page whose only script draws its charts.

const figureData = JSON.parse(document.getElementById("data").textContent);
document.documentElement.classList.add("scripted");
const figurePlots = createCharts(figureData.charts);
window.kinetree = { plots: figurePlots };
