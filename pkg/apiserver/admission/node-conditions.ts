/** Taints new nodes, and lets pods tolerate short failures of their nodes. */

import type { Node, Pod, Toleration } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns } from '#apiserver/admission/plugin.js';

/** Keeps pods off a node until the node lifecycle controller has seen it ready. */
export class TaintNodesByCondition implements AdmissionPlugin {
  readonly name = 'TaintNodesByCondition';
  readonly resources = [{ group: 'core', resource: 'nodes' }] as const;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'core', 'nodes');
  }

  admit(attributes: MutableAttributes): void {
    const node = attributes.object as Draft<Node>;
    const taint = { key: this.#dialect.taints.notReady, effect: 'NoSchedule' };
    const taints = node.spec?.taints ?? [];
    if (!taints.some(({ key, effect }) => key === taint.key && effect === taint.effect))
      node.spec = { ...node.spec, taints: [...taints, taint] };
  }
}

export interface DefaultTolerationSecondsOptions {
  readonly dialect: Dialect;
  readonly notReadySeconds: number;
  readonly unreachableSeconds: number;
}

/** Keeps pods for a while on a node that is not ready or unreachable before they are evicted. */
export class DefaultTolerationSeconds implements AdmissionPlugin {
  readonly name = 'DefaultTolerationSeconds';
  readonly resources = [{ group: 'core', resource: 'pods' }] as const;
  readonly #options: DefaultTolerationSecondsOptions;

  constructor(options: DefaultTolerationSecondsOptions) {
    this.#options = options;
  }

  handles(attributes: AdmissionAttributes): boolean {
    const { operation } = attributes;
    return concerns(attributes, 'core', 'pods') && (operation === 'CREATE' || operation === 'UPDATE');
  }

  admit(attributes: MutableAttributes): void {
    const { spec } = attributes.object as Draft<Pod>;
    const { dialect, notReadySeconds, unreachableSeconds } = this.#options;
    const tolerations = spec.tolerations ?? [];
    const added = [
      { key: dialect.taints.notReady, tolerationSeconds: notReadySeconds },
      { key: dialect.taints.unreachable, tolerationSeconds: unreachableSeconds },
    ].filter(({ key }) => !tolerations.some((toleration) => toleratesEviction(toleration, key)));
    if (added.length > 0)
      spec.tolerations = [
        ...tolerations,
        ...added.map(({ key, tolerationSeconds }) => ({
          key,
          tolerationSeconds,
          operator: 'Exists',
          effect: 'NoExecute',
        })),
      ];
  }
}

function toleratesEviction({ key = '', effect = '' }: Toleration, taint: string): boolean {
  return (key === taint || key === '') && (effect === 'NoExecute' || effect === '');
}
