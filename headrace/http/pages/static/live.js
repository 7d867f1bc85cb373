// Says when the figures of a page are old, because the command does not answer any more. Shows the
// local time of a time that is pointed at. A page that nobody sees lets go of its connection, of which
// a browser has six for all pages of a server.
(function () {
  "use strict";
  var SILENT_MS = 3500;
  var HIDDEN_MS = 20000;
  var heard = Date.now();
  var banner = document.getElementById("lost");
  var since = document.getElementById("lost-since");
  var beat = document.getElementById("beat");
  var main = document.getElementById("main");

  document.addEventListener("mouseover", function (event) {
    var time = event.target.closest("time[datetime*=T]");
    if (time) time.title = new Date(time.dateTime).toLocaleString() + " (your time)";
  });

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
  if (!main.hasAttribute("sse-connect")) return;
  setInterval(function () {
    if (!document.hidden && Date.now() - heard > SILENT_MS) say(true);
  }, 500);

  var source = null;
  var letGo = null;
  document.body.addEventListener("htmx:sseOpen", function (event) { source = event.detail.source; });
  document.addEventListener("visibilitychange", function () {
    clearTimeout(letGo);
    if (document.hidden) {
      letGo = setTimeout(function () { if (source) source.close(); }, HIDDEN_MS);
    } else if (source && source.readyState === EventSource.CLOSED) {
      location.reload();
    } else {
      heard = Date.now();
    }
  });
})();
