function update() {
  if (at("epsilon")) verdict();
  drawGallery();
  drawFractions();
}

setUp();
setUpFilters();
setUpGallery();
setUpCharts();
update();
drawAll();
document.documentElement.dataset.ready = "yes";
