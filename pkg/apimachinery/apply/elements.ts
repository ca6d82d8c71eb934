/** Lists whose elements have to be told apart. */

/** An element is there twice, or says nothing of its keys: 1.24 has no typed form of such an object. */
export class AmbiguousElementError extends Error {}

/** The edge to an element that says nothing of its keys. */
const withoutKeys = 'k:{}';

/** Fewer are compared one by one. */
const fewEdges = 8;

/** Throws an AmbiguousElementError unless all edges are those of different elements. */
export function checkEdges(edges: readonly string[]): void {
  for (const edge of edges) checkEdge(edge);
  const { length } = edges;
  if (length > fewEdges) {
    if (new Set(edges).size < length) throw ambiguous();
    return;
  }
  for (let i = 1; i < length; i++) for (let j = 0; j < i; j++) if (edges[i] === edges[j]) throw ambiguous();
}

/** The same for one of them. */
export function checkEdge(edge: string): void {
  if (edge === withoutKeys) throw ambiguous();
}

function ambiguous(): AmbiguousElementError {
  return new AmbiguousElementError('elements of a list cannot be told apart');
}
