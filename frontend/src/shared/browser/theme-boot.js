// Runs before the first paint, as a file of its own: a page that is to be dark is never white for a moment.
;(() => {
  try {
    const theme = localStorage.getItem("lamplighter.theme")
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme
  } catch {
    // no storage: the system's theme stands
  }
})()
