/** Namespaced objects need their namespace; ending namespaces take nothing new; some namespaces never end. */
import { namespaces } from '#api/core/v1/resources.gen.js';
import type { Namespace } from '#api/core/v1/types.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { notFound } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { concerns, refusal } from '#apiserver/admission/refusal.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

export interface NamespaceLifecycleOptions {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
}

export class NamespaceLifecycle implements AdmissionPlugin {
  readonly name = 'NamespaceLifecycle';
  readonly #options: NamespaceLifecycleOptions;
  readonly #immortal: ReadonlySet<string>;

  constructor(options: NamespaceLifecycleOptions) {
    this.#options = options;
    const { default: usual, system, public: open } = options.dialect.namespaces;
    this.#immortal = new Set([usual, system, open]);
  }

  handles({ operation }: AdmissionAttributes): boolean {
    return operation !== 'CONNECT';
  }

  admit(attributes: AdmissionAttributes): MaybePromise<void> {
    const { operation, resource, namespace, name } = attributes;
    const { dialect } = this.#options;
    if (operation === 'DELETE' && concerns(attributes, 'core', 'namespaces') && this.#immortal.has(name))
      throw refusal(attributes, dialect, 'this namespace may not be deleted');
    if (!resource.namespaced || namespace === '' || operation === 'DELETE') return;
    // Questions about rights are answered for namespaces that do not exist, too.
    if (concerns(attributes, 'authorization', 'localsubjectaccessreviews')) return;
    return andThen(this.#find(namespace), (found) => this.#require(attributes, found));
  }

  /** Throws 404 without a namespace, and 403 for what is new in one that ends. */
  #require(attributes: AdmissionAttributes, found: Namespace | undefined): void {
    const { operation, namespace } = attributes;
    if (found === undefined) throw notFound({ group: '', resource: 'namespaces' }, namespace);
    if (operation !== 'CREATE' || !isEnding(found)) return;
    const error = refusal(
      attributes,
      this.#options.dialect,
      `unable to create new content in namespace ${namespace} because it is being terminated`,
    );
    error.status.details = {
      ...error.status.details,
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    };
    throw error;
  }

  #find(name: string): MaybePromise<Namespace | undefined> {
    const { reader } = this.#options;
    // The cache may not know yet of a namespace that was made a moment ago, or of one that was made again.
    return andThen(reader.get(namespaces, '', name), (cached) =>
      cached !== undefined && !isEnding(cached) ? cached : reader.get(namespaces, '', name, 'latest'),
    );
  }
}

function isEnding(namespace: Namespace): boolean {
  return namespace.metadata.deletionTimestamp !== undefined || namespace.status?.phase === 'Terminating';
}
