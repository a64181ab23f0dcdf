/**
 * The height of each row of a long list and its resulting position: sums in a Fenwick tree, so that a row can change
 * without adding up all rows.
 */
export function heights() {
  let count = 0
  /** @type {number[]} */
  let sizes = []
  let tree = new Float64Array(1)
  return {
    /** @param {number} n @param {(row: number) => number} sizeOf */
    fill(n, sizeOf) {
      count = n
      sizes = Array.from({ length: n }, (_, row) => sizeOf(row))
      tree = new Float64Array(n + 1)
      for (let at = 1; at <= n; at++) {
        tree[at] += sizes[at - 1]
        const parent = at + (at & -at)
        if (parent <= n) tree[parent] += tree[at]
      }
    },

    /** @param {number} row */
    size: (row) => sizes[row] ?? 0,

    /** @param {number} row @param {number} size @returns {number} the change in height */
    set(row, size) {
      const change = size - sizes[row]
      sizes[row] = size
      for (let at = row + 1; at <= count; at += at & -at) tree[at] += change
      return change
    },

    /** The top of a row. @param {number} row */
    top,

    /** The row at a height. @param {number} height */
    at(height) {
      let row = 0
      for (let step = 1 << Math.floor(Math.log2(Math.max(1, count))); step; step >>= 1) {
        if (row + step <= count && tree[row + step] <= height) {
          row += step
          height -= tree[row]
        }
      }
      return Math.min(row, Math.max(0, count - 1))
    },

    get total() {
      return top(count)
    },
  }

  /** @param {number} row */
  function top(row) {
    let sum = 0
    for (let at = row; at > 0; at -= at & -at) sum += tree[at]
    return sum
  }
}
