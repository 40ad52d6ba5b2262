/* Loaded before the body so that a stored theme applies before anything is painted. */
"use strict";

(() => {
  const root = document.documentElement;
  const region = () => document.getElementById("status");
  const dialog = () => document.getElementById("dialog");

  try {
    const stored = localStorage.getItem("theme");
    if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  } catch {
    /* Private windows may refuse storage; a choice then lasts for one page. */
  }

  function say(text, level = "info") {
    const template = document.getElementById("status-template");
    if (!text || !template || !region()) return;
    const message = template.content.firstElementChild.cloneNode(true);
    message.dataset.level = level;
    message.querySelector("[data-text]").textContent = text;
    region().replaceChildren(message);
  }

  function toggleTheme() {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {}
  }

  async function copy(button) {
    const source = document.getElementById(button.dataset.copy);
    const text = source.value ?? source.textContent;
    try {
      await navigator.clipboard.writeText(text);
      say("Copied to the clipboard", "success");
    } catch {
      source.focus();
      source.select?.();
      say("Press Ctrl+C or Cmd+C to copy the selected text", "caution");
    }
  }

  // One key each for what a page offers often; never while somebody writes, and only where they are wanted.
  const WRITING = "input:not([type=checkbox], [type=radio], [type=submit], [type=button]), textarea, select, [contenteditable]";
  const usesKeys = () => {
    try {
      return localStorage.getItem("keys") !== "off";
    } catch {
      return true;
    }
  };

  function press(event) {
    const busy = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat;
    if (busy || !usesKeys() || event.target.closest?.(WRITING) || document.querySelector("dialog[open]")) return;
    const named = [...document.querySelectorAll("[data-key]")];
    const actor = named.find((one) => one.dataset.key.split(" ").includes(event.key) && one.checkVisibility());
    if (!actor) return;
    event.preventDefault();
    if (actor.matches(WRITING)) actor.focus();
    else actor.click();
  }

  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-keys]")) return;
    try {
      localStorage.setItem("keys", event.target.checked ? "on" : "off");
    } catch {}
  });

  const actions = {
    theme: toggleTheme,
    copy,
    dismiss: (button) => button.closest("[data-message]").remove(),
    close: (button) => button.closest("dialog").close(),
    open: (button) => document.getElementById(button.dataset.dialog).showModal(),
  };

  document.addEventListener("click", (event) => {
    const actor = event.target.closest("[data-action]");
    // A link that closes a dialog is a plain link on the page the dialog comes from.
    if (actor && actor.dataset.action === "close" && !actor.closest("dialog")) return;
    if (actor) event.preventDefault();
    if (actor) actions[actor.dataset.action]?.(actor);
    if (event.target instanceof HTMLDialogElement) event.target.close();
    for (const menu of document.querySelectorAll("details[data-menu][open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const menu = event.target.closest?.("details[data-menu][open]");
      if (menu) menu.open = false;
      menu?.querySelector("summary").focus();
      // In a field for words the first Escape would only empty the field.
      const asking = event.target.closest?.("dialog[open]:has([data-jump])");
      if (asking) event.preventDefault();
      asking?.close();
    }
    const search = document.querySelector("[data-search]");
    if (search && event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      htmx.ajax("GET", search.form.action, { target: "#dialog-body", swap: "innerHTML" });
    }
    press(event);
    // In a list of places to go the arrows walk from one to the next, and back to the words.
    const jump = event.target.closest?.("[data-jump]");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (jump && step) {
      event.preventDefault();
      const stops = [...jump.querySelectorAll("input[type=search], a[href]")];
      stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length].focus();
    }
  });

  // What htmx swaps away must not take the focus with it.
  let lost = false;
  document.addEventListener("htmx:beforeSwap", (event) => {
    lost = event.detail.shouldSwap && event.detail.target.contains(document.activeElement);
  });
  document.addEventListener("htmx:load", (event) => {
    if (!lost || document.activeElement !== document.body) return;
    lost = false;
    const places = event.detail.elt.querySelectorAll("a[href], button, summary, input");
    for (const next of dialog()?.open ? [document.getElementById("dialog-body")] : places) {
      next.focus();
      if (document.activeElement === next) return;
    }
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "dialog-body") return;
    if (!dialog().open) dialog().showModal();
    (dialog().querySelector("[aria-invalid='true'], [data-first]") ?? event.detail.target).focus();
  });

  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    say(
      status === 404 ? "That is no longer there, or you may not see it. Reload the page."
      : status === 403 ? "You may not do that. Nothing was changed."
      : status === 409 ? "Something else changed in the meantime. Reload the page and try again."
      : "The server could not do that. Nothing was changed; try again.",
      "danger",
    );
  });
  document.addEventListener("htmx:sendError", () => say("The server cannot be reached. Check the connection and try again.", "danger"));
  document.addEventListener("status", (event) => say(event.detail.text, event.detail.level));

  // A region that is filled when the page arrives is not announced; filling it again is.
  document.addEventListener("DOMContentLoaded", () => {
    for (const box of document.querySelectorAll("[data-keys]")) box.checked = usesKeys();
    const waiting = region() ? [...region().children] : [];
    if (!waiting.length) return;
    setTimeout(() => region().replaceChildren(...waiting), 150);
  });
})();
