/** Give each text of the elements that a selector finds, with its color, what is behind it, and their contrast. */
(selector) => {
  const paint = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", {
    willReadFrequently: true,
  });

  /** A color of CSS as red, green, blue and alpha, whatever its notation. */
  function parse(color) {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = color;
    paint.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = paint.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  }

  const over = (front, back) => [0, 1, 2].map((at) => front[at] * front[3] + back[at] * (1 - front[3])).concat(1);

  function luminance(color) {
    const [red, green, blue] = color
      .slice(0, 3)
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function ratio(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  /** The color behind an element: that of the editor, then each ancestor's from the root on. */
  function ground(el) {
    const chain = [];
    for (let at = el; at; at = at.parentElement ?? at.getRootNode().host) chain.unshift(at);
    const editor = getComputedStyle(document.documentElement).getPropertyValue("--vscode-editor-background");
    const page = editor ? over(parse(editor), [255, 255, 255, 1]) : [255, 255, 255, 1];
    return chain.reduce((back, one) => over(parse(getComputedStyle(one).backgroundColor), back), page);
  }

  /** How far an element is let through: its opacity, times that of its ancestors. */
  function opacity(el) {
    let value = 1;
    for (let at = el; at; at = at.parentElement) value *= Number(getComputedStyle(at).opacity);
    return value;
  }

  const texts = [];
  const add = (el, text, style) => {
    const back = ground(el);
    const color = parse(el instanceof SVGElement ? style.fill : style.color);
    const front = over([color[0], color[1], color[2], color[3] * opacity(el)], back);
    texts.push({
      ratio: ratio(front, back),
      color: front.map(Math.round).slice(0, 3).join(","),
      ground: back.map(Math.round).slice(0, 3).join(","),
      at: `${el.tagName.toLowerCase()}.${el.getAttribute("class") ?? ""}`,
      text: text.slice(0, 60),
    });
  };
  const isSeen = (el) => el.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !el.closest(":disabled, option, style");
  for (const root of document.querySelectorAll(selector)) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const el = walker.currentNode.parentElement;
      const text = walker.currentNode.data.trim();
      if (text && isSeen(el)) add(el, text, getComputedStyle(el));
    }
    for (const el of root.querySelectorAll("[placeholder]"))
      if (isSeen(el)) add(el, el.placeholder, getComputedStyle(el, "::placeholder"));
  }
  return texts;
};
