function update() {
  if (at("epsilon")) verdict();
  drawGallery();
  drawFractions();
}

setUp();
setUpFilters();
setUpGallery();
setUpMasks();
setUpCharts();
update();
drawAll();
document.documentElement.dataset.ready = "yes";
