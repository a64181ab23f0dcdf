// Runs before the first paint, in a separate file, so that a dark page never flashes white.
;(() => {
  try {
    const theme = localStorage.getItem("lamplighter.theme")
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme
  } catch {
    // no storage: the theme of the system applies
  }
})()
