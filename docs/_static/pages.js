// SPDX-License-Identifier: Apache-2.0
// Prepares names and tables for narrow windows.

// Lets a long name break after a separator.
for (const code of document.querySelectorAll("td code, th code, h3 code, .toc-tree code")) {
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    const parts = text.data.split(/(?<=[._/(=])(?=\w)/);
    text.replaceWith(...parts.flatMap((part, at) => (at ? [document.createElement("wbr"), part] : [part])));
  }
}

// On a phone, pages.css shows each row of a wide table as a block, with the headings in the cells.
for (const table of document.querySelectorAll("article table.docutils")) {
  const headings = [...table.querySelectorAll("thead th")].map((heading) => heading.textContent);
  const cells = [...table.querySelectorAll("tbody td")];
  const isLong = cells.some((cell) => cell.textContent.length > 60);
  if (headings.length > 2 && (isLong || headings.length > 3) && !table.querySelector(".text-right")) {
    table.classList.add("stacked");
    for (const cell of cells) {
      cell.dataset.heading = headings[cell.cellIndex] && `${headings[cell.cellIndex]}: `;
      cell.classList.toggle("blank", !cell.textContent.trim());
    }
  }
}
