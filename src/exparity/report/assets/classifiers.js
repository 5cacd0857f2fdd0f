/* ROC curves: each is drawn into the frame that waits for it. */
sections.classifiers = () => {
  const drawings = data("classifiers");
  for (const frame of document.querySelectorAll("svg[data-drawing]")) charts.draw(frame, drawings[frame.dataset.drawing]);
};
