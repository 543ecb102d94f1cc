// Theme, language and keyboard shortcuts: what has to happen in the browser, and nothing else.
"use strict";
(() => {
  const YEAR = 31536000;
  const cookie = (name) => (document.cookie.match(new RegExp("(?:^|; )" + name + "=([^;]*)")) || [])[1];
  const remember = (name, value) => { document.cookie = `${name}=${value}; path=/; max-age=${YEAR}; samesite=strict`; };
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

  const isDark = () => ({ dark: true, light: false })[cookie("skitter_theme")] ?? systemDark.matches;
  const paint = () => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    if (typeof setDark === "function") setDark(isDark());
  };
  paint();
  if (location.pathname !== "/login" && location.hash.startsWith("#token=")) history.replaceState(null, "", location.pathname + location.search);
  systemDark.addEventListener("change", paint);
  document.addEventListener("DOMContentLoaded", () => setTimeout(paint, 0));

  const typing = (target) => target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName);
  const click = (selector) => { const found = document.querySelector(selector); if (found) found.click(); return !!found; };
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector(".q-dialog")) return;
    const soon = Date.now() - going < 1500;
    going = 0;
    if (soon && click(`[data-go="${CSS.escape(event.key)}"]`)) return event.preventDefault();
    if (event.key === "g") going = Date.now();
    else if (event.key === "/") { const find = document.querySelector("input[data-find]"); if (find) { find.focus(); event.preventDefault(); } }
    else if (event.key === "?") click("[data-help]");
    else if (event.key === "n") click("[data-new]");
    else if (event.key === "t") window.skitter.toggleTheme();
  });

  window.skitter = {
    toggleTheme() { remember("skitter_theme", isDark() ? "light" : "dark"); paint(); },
    signIn() { location.assign("/login?next=" + encodeURIComponent(location.pathname + location.search)); },
    async leave() {
      await fetch("/logout", { method: "POST", headers: { "X-Skitter": "1" } }).catch(() => undefined);
      location.assign("/login");
    },
    setLanguage(language) { remember("skitter_lang", language); location.reload(); },
  };
})();
