const APART = 90
const RING = 150

/**
 * The position of each entity of a neighborhood: the center in the middle, the others on one ring for each step,
 * neighbors of the same entity side by side. The same neighborhood always gets the same positions.
 * @param {{center: number, nodes: {id: number, kind: string, name: string, depth: number}[], edges: {source_id: number, target_id: number}[]}} around
 * @param {number} [stretch] ratio of width to height of the drawing
 * @returns {Map<number, {x: number, y: number}>}
 */
export function places({ center, nodes, edges }, stretch = 1) {
  const positions = new Map([[center, { x: 0, y: 0 }]])
  /** @type {Map<number, number>} */
  const angles = new Map([[center, 0]])
  const steps = [...new Set(nodes.map(({ depth }) => depth))].filter((depth) => depth > 0).sort((a, b) => a - b)
  let radius = 0
  for (const step of steps) {
    const ring = nodes
      .filter(({ id, depth }) => depth === step && id !== center)
      .map((node) => ({ ...node, near: Math.min(...anglesNear(node.id, edges, angles)) }))
      .sort((a, b) => a.near - b.near || a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name) || a.id - b.id)
    radius = Math.max(radius + RING, (ring.length * APART) / (2 * Math.PI))
    ring.forEach(({ id }, at) => {
      const angle = (2 * Math.PI * at) / ring.length
      angles.set(id, angle)
      positions.set(id, { x: Math.round(Math.sin(angle) * radius * stretch), y: Math.round(-Math.cos(angle) * radius) })
    })
  }
  return positions
}

/**
 * The angles of the neighbors that already have a position.
 * @param {number} id
 * @param {{source_id: number, target_id: number}[]} edges
 * @param {Map<number, number>} angles
 */
function anglesNear(id, edges, angles) {
  const neighborAngles = edges
    .filter(({ source_id, target_id }) => source_id === id || target_id === id)
    .flatMap(({ source_id, target_id }) => angles.get(source_id === id ? target_id : source_id) ?? [])
  return neighborAngles.length ? neighborAngles : [0]
}
