/** The parts of a parsed JSONPath template. */

export type PathNode =
  | { readonly type: 'list'; readonly nodes: readonly PathNode[] }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'wildcard' }
  | { readonly type: 'recursive' }
  | { readonly type: 'value'; readonly value: number | boolean }
  | { readonly type: 'range' }
  | { readonly type: 'end' }
  | {
      readonly type: 'slice';
      readonly from: number | undefined;
      readonly to: number | undefined;
      readonly step: number;
      readonly single: boolean;
    }
  | { readonly type: 'union'; readonly members: readonly PathNode[] }
  | { readonly type: 'filter'; readonly left: PathNode; readonly operator: string; readonly right: PathNode };

/** The template is invalid, or does not fit the object. */
export class PathError extends Error {
  override readonly name = 'PathError';
}
