/* Trees by keyboard (one stop for Tab, arrows, Home and End, typed names), and dragging a memory to where it shall be. */
"use strict";

(() => {
  const ITEMS = "li.tree-node, li.tree-more";
  const trees = () => document.querySelectorAll("ul.tree");
  const treeOf = (node) => node.closest("ul.tree");
  const itemOf = (node) => node.closest?.(`ul.tree :is(${ITEMS})`);
  const branchOf = (item) => item.querySelector(":scope > details");
  const linkOf = (item) => item.querySelector(":scope > .tree-row .tree-name, :scope > a");
  const parentOf = (item) => itemOf(item.parentElement);
  const visible = (tree) => [...tree.querySelectorAll(ITEMS)].filter((item) => item.checkVisibility());

  /* Roles are given here and not by the server: without a script these are lists of links, and say so. */
  function describe(tree) {
    tree.setAttribute("role", "tree");
    if (!tree.hasAttribute("aria-label")) tree.setAttribute("aria-label", "Memories");
    for (const group of tree.querySelectorAll("ul")) group.setAttribute("role", "group");
    for (const branch of tree.querySelectorAll("details")) branch.setAttribute("role", "presentation");
    const items = tree.querySelectorAll(ITEMS);
    for (const item of items) {
      item.setAttribute("role", "treeitem");
      const branch = branchOf(item);
      if (branch) item.setAttribute("aria-expanded", String(branch.open));
      const name = linkOf(item);
      if (name && !item.hasAttribute("aria-label")) item.setAttribute("aria-label", described(item, name));
      if (!item.hasAttribute("tabindex")) makeStop(item, false);
      const row = item.querySelector(":scope > .tree-row");
      if (row?.dataset.move) row.draggable = true;
    }
    if (items.length && !tree.querySelector('[role="treeitem"][tabindex="0"]')) makeStop(items[0], true);
  }

  function described(item, name) {
    const closed = item.querySelector(":scope > .tree-row .badge-caution") ? ", closed branch" : "";
    const changes = item.querySelector(":scope > .tree-row .tree-changes") ? ", your access changes here" : "";
    return name.textContent.trim() + closed + changes;
  }

  /* What is inside an item is a stop of its own only while one is inside: whoever clicks a link can go on from there. */
  function makeStop(item, stop, inside = false) {
    item.tabIndex = stop ? 0 : -1;
    const controls = item.querySelectorAll(":scope > a, :scope > .tree-row a, :scope > details > summary");
    for (const control of controls) control.tabIndex = inside ? 0 : -1;
  }

  function become(item, inside = false) {
    for (const other of treeOf(item).querySelectorAll('[role="treeitem"][tabindex="0"]')) makeStop(other, false);
    makeStop(item, true, inside);
  }

  function go(item) {
    if (!item) return;
    become(item);
    item.focus();
    item.scrollIntoView({ block: "nearest" });
  }

  let typed = "";
  let typedAt = 0;

  function find(items, at, key) {
    const now = Date.now();
    typed = now - typedAt > 600 ? key : typed + key;
    typedAt = now;
    const again = [...typed].every((letter) => letter === typed[0]);
    const sought = (again ? typed[0] : typed).toLocaleLowerCase();
    const from = again || typed.length === 1 ? at + 1 : at;
    const order = [...items.slice(from), ...items.slice(0, from)];
    return order.find((item) => linkOf(item)?.textContent.trim().toLocaleLowerCase().startsWith(sought));
  }

  function pressed(event, item) {
    const items = visible(treeOf(item));
    const at = items.indexOf(item);
    const branch = branchOf(item);
    const rtl = getComputedStyle(item).direction === "rtl";
    const [open, close] = rtl ? ["ArrowLeft", "ArrowRight"] : ["ArrowRight", "ArrowLeft"];
    if (event.key === "ArrowDown") go(items[at + 1]);
    else if (event.key === "ArrowUp") go(items[at - 1]);
    else if (event.key === "Home") go(items[0]);
    else if (event.key === "End") go(items.at(-1));
    else if (event.key === open && branch && !branch.open) branch.open = true;
    else if (event.key === open && branch) go(items.includes(items[at + 1]) && item.contains(items[at + 1]) ? items[at + 1] : null);
    else if (event.key === close && branch?.open) branch.open = false;
    else if (event.key === close) go(parentOf(item));
    else if (event.key === "Enter") linkOf(item)?.click();
    else if (event.key === " " && branch) branch.open = !branch.open;
    else if (event.key.length === 1 && event.key.trim()) go(find(items, at, event.key));
    else return;
    event.preventDefault();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const item = event.target.matches?.('[role="treeitem"]') ? event.target : null;
    // A link or a toggle inside an item answers Enter and the space bar itself.
    const inside = !item && itemOf(event.target);
    if (item) pressed(event, item);
    else if (inside && event.key.startsWith("Arrow")) pressed(event, inside);
  });

  document.addEventListener("focusin", (event) => {
    const item = itemOf(event.target);
    if (item && event.target !== item) become(item, true);
  });

  document.addEventListener(
    "toggle",
    (event) => {
      const item = event.target.matches?.("details.tree-branch") ? itemOf(event.target) : null;
      if (!item) return;
      item.setAttribute("aria-expanded", String(event.target.open));
      if (!event.target.open && event.target.contains(document.activeElement)) go(item);
    },
    true,
  );

  const describeAll = () => trees().forEach(describe);
  document.addEventListener("DOMContentLoaded", describeAll);
  document.addEventListener("htmx:load", (event) => {
    const tree = treeOf(event.detail.elt) ?? event.detail.elt.querySelector?.("ul.tree");
    if (tree) describe(tree);
  });
  // Where "Show more" was, the first of what came takes the focus.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const more = event.detail.target;
    if (more.matches?.("li.tree-more") && more.contains(document.activeElement)) {
      const before = more.previousElementSibling;
      document.addEventListener("htmx:afterSettle", () => go(before ? before.nextElementSibling : trees()[0]?.firstElementChild), {
        once: true,
      });
    }
  });

  /* Dragging asks the same question as the form, and moves nothing by itself. */
  let dragged = null;
  const places = (event) => {
    const row = event.target.closest?.(".tree-row[data-into]");
    return row && dragged && !dragged.closest("li").contains(row) ? row : null;
  };

  document.addEventListener("dragstart", (event) => {
    dragged = event.target.closest?.(".tree-row[data-move]");
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.querySelector(".tree-name").textContent);
    dragged.classList.add("tree-dragged");
  });

  document.addEventListener("dragover", (event) => {
    const row = places(event);
    for (const other of document.querySelectorAll(".tree-drop")) if (other !== row) other.classList.remove("tree-drop");
    if (!row) return;
    event.preventDefault();
    row.classList.add("tree-drop");
  });

  document.addEventListener("drop", (event) => {
    const row = places(event);
    if (!row) return;
    event.preventDefault();
    const question = `${dragged.dataset.move}?to=${encodeURIComponent(row.dataset.into)}`;
    if (window.htmx) htmx.ajax("GET", question, { target: "#dialog-body", swap: "innerHTML" });
    else location.assign(question);
  });

  document.addEventListener("dragend", () => {
    for (const row of document.querySelectorAll(".tree-drop, .tree-dragged")) row.classList.remove("tree-drop", "tree-dragged");
    dragged = null;
  });
})();
