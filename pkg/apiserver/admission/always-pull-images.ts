/**
 * Lets nodes pull every image of a pod anew, so that a pod needs the rights to a private image even on a node that has it
 * already.
 */

import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { unclassified } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { refusal } from '#apiserver/admission/plugin.js';
import { draftPod, newPod, placedContainers, podsOnly, writesPod } from '#apiserver/admission/pod-plugin.js';

export class AlwaysPullImages implements AdmissionPlugin {
  readonly name = 'AlwaysPullImages';
  readonly resources = podsOnly;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** Updates that only use images of the old pod are left alone. */
  handles(attributes: AdmissionAttributes): boolean {
    if (!writesPod(attributes)) return false;
    if (attributes.operation === 'CREATE') return true;
    const old = new Set(imagesOf(attributes.oldObject as Pod));
    return imagesOf(newPod(attributes)).some((image) => !old.has(image));
  }

  admit(attributes: MutableAttributes): void {
    for (const { container } of placedContainers(draftPod(attributes).spec))
      (container as Draft<Container>).imagePullPolicy = 'Always';
  }

  /** A webhook may have changed the policy. Like 1.24, answers 500 with the refusals as text. */
  validate(attributes: AdmissionAttributes): void {
    const refusals = placedContainers(newPod(attributes).spec)
      .filter(({ container }) => container.imagePullPolicy !== 'Always')
      .map(({ container: { imagePullPolicy: policy = '' }, path }) => {
        const why = `${path}.imagePullPolicy: Unsupported value: ${quoted(policy)}: supported values: "Always"`;
        return refusal(attributes, this.#dialect, why).message;
      });
    if (refusals.length === 0) return;
    throw unclassified(refusals.length === 1 ? refusals.join() : `[${refusals.join(', ')}]`);
  }
}

function imagesOf({ spec }: Pod): readonly string[] {
  return placedContainers(spec).map(({ container }) => container.image ?? '');
}
