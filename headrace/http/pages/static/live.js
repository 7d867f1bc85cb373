// Says when the figures of a page are old, because the command does not answer any more.
(function () {
  "use strict";
  var SILENT_MS = 3500;
  var heard = Date.now();
  var banner = document.getElementById("lost");
  var since = document.getElementById("lost-since");
  var beat = document.getElementById("beat");
  var main = document.getElementById("main");

  function say(isLost) {
    if (isLost && banner.hidden) since.textContent = beat.textContent;
    banner.hidden = !isLost;
    main.classList.toggle("old", isLost);
  }

  document.body.addEventListener("htmx:sseMessage", function () {
    heard = Date.now();
    say(false);
  });
  document.body.addEventListener("htmx:sseError", function () { say(true); });
  if (main.hasAttribute("sse-connect")) {
    setInterval(function () {
      if (Date.now() - heard > SILENT_MS) say(true);
    }, 500);
  }
})();
