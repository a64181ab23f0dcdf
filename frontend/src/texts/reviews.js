/** What the page says of this area: a key, and its sentence or its plural forms. */
export const reviews = {}
