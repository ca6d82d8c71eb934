/** Refuses writes, deletions included, in namespaces that do not exist. */
import { namespaces } from '#api/core/v1/resources.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import { notFound } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { ReadingPlugin } from '#apiserver/admission/plugin.js';

export class NamespaceExists extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'NamespaceExists';

  handles({ operation, resource, namespace }: AdmissionAttributes): boolean {
    return operation !== 'CONNECT' && resource.namespaced && namespace !== '';
  }

  validate({ namespace }: AdmissionAttributes): MaybePromise<void> {
    return andThen(this.reader.outline(namespaces, '', namespace), (cached) =>
      cached === undefined ? this.#requireStored(namespace) : undefined,
    );
  }

  /** The cache may not show a new namespace yet. Throws 404. */
  async #requireStored(namespace: string): Promise<void> {
    if ((await this.reader.get(namespaces, '', namespace, 'latest')) !== undefined) return;
    throw notFound({ group: '', resource: 'namespaces' }, namespace);
  }
}
