// The page of all methods: the box hides rows that lack one of its words, and sections without rows.
const box = document.getElementById("filter");
if (box) {
  const rows = [...document.querySelectorAll("table.methods tbody tr")];
  const text = rows.map((row) => `${row.dataset.path} ${row.textContent} ${row.title}`.toLowerCase());
  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row, k) => { row.hidden = !words.every((word) => text[k].includes(word)); });
    for (const table of document.querySelectorAll("table.methods")) {
      table.closest("section").hidden = !table.querySelector("tbody tr:not([hidden])");
    }
  };
  box.hidden = false;
  box.addEventListener("input", filter);
  filter();
}
