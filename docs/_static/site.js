// Names for what the theme and the gallery draw without text, so that screen readers can say it.
document.addEventListener("DOMContentLoaded", () => {
  for (const toggle of document.querySelectorAll("summary:not([aria-label])")) {
    if (!toggle.textContent.trim()) toggle.setAttribute("aria-label", "pages below this one");
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a:not([aria-label])")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
});
