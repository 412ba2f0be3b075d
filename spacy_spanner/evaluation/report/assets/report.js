"use strict";
(function () {
  var list = document.querySelector(".errors");
  if (!list) { return; }
  var kind = document.getElementById("kind");
  var label = document.getElementById("label");
  var shown = document.getElementById("shown");
  function has(item, name, value) {
    return !value || item.dataset[name].split("\u0001").indexOf(value) >= 0;
  }
  function filter() {
    var count = 0;
    Array.prototype.forEach.call(list.children, function (item) {
      var visible = has(item, "pairs", kind.value && label.value ? kind.value + "\u0002" + label.value : "")
        && has(item, "kinds", kind.value) && has(item, "labels", label.value);
      item.hidden = !visible;
      count += visible ? 1 : 0;
    });
    shown.textContent = String(count);
  }
  kind.addEventListener("change", filter);
  label.addEventListener("change", filter);
  filter();
}());
