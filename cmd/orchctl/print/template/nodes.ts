/** The parts of a parsed Go template. */

export type Operand =
  | { readonly type: 'constant'; readonly value: unknown }
  | { readonly type: 'dot' }
  | { readonly type: 'variable'; readonly name: string }
  | { readonly type: 'function'; readonly name: string }
  | { readonly type: 'pipeline'; readonly pipeline: Pipeline };

/** An operand and the fields that follow it: `$pod.spec.nodeName`. */
export interface Term {
  readonly operand: Operand;
  readonly fields: readonly string[];
}

/** A function or a value, with arguments. */
export type CommandNode = readonly Term[];

export interface Pipeline {
  readonly variables: readonly string[];
  /** Whether the variables exist already. */
  readonly assigns: boolean;
  readonly commands: readonly CommandNode[];
}

export type TemplateNode =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'action'; readonly pipeline: Pipeline }
  | {
      readonly type: 'if' | 'with' | 'range';
      readonly pipeline: Pipeline;
      readonly body: readonly TemplateNode[];
      readonly otherwise: readonly TemplateNode[];
    }
  | { readonly type: 'template'; readonly name: string; readonly pipeline: Pipeline | undefined }
  | { readonly type: 'break' | 'continue' };

export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}
