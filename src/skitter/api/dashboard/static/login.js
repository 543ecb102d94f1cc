// Sign in with the token of the field, or with the one in the fragment of the address.
"use strict";
(() => {
  const form = document.getElementById("login"), field = document.getElementById("token"), said = document.getElementById("said");
  const next = () => { const to = new URLSearchParams(location.search).get("next") || "/"; return /^\/(?![\/\\])/.test(to) ? to : "/"; };
  const enter = async (token) => {
    said.textContent = "";
    form.querySelector("button").disabled = true;
    try {
      const answer = await fetch("/login", { method: "POST", headers: { "Content-Type": "application/json", "X-Skitter": "1" },
        body: JSON.stringify({ token }) });
      if (answer.ok) return location.replace(next());
      said.textContent = form.dataset[answer.status === 401 ? "wrong" : answer.status === 429 ? "often" : "away"];
    } catch { said.textContent = form.dataset.away; }
    form.querySelector("button").disabled = false;
    field.focus();
  };
  const other = document.querySelector("[data-language]");
  other.addEventListener("click", () => window.skitter.setLanguage(other.dataset.language));
  form.addEventListener("submit", (event) => { event.preventDefault(); enter(field.value.trim()); });
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) { history.replaceState(null, "", location.pathname + location.search); enter(given); }
})();
