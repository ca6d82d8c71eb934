/**
 * Requires namespaced objects to have a namespace, refuses new ones in a terminating namespace, and protects some namespaces
 * from deletion.
 */
import { namespaces } from '#api/core/v1/resources.gen.js';
import type { Namespace } from '#api/core/v1/types.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import { notFound } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { concerns, ReadingPlugin, type ReadingPluginOptions } from '#apiserver/admission/plugin.js';

export class NamespaceLifecycle extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'NamespaceLifecycle';
  readonly #protected: ReadonlySet<string>;

  constructor(options: ReadingPluginOptions) {
    super(options);
    const { default: usual, system, public: open } = options.dialect.namespaces;
    this.#protected = new Set([usual, system, open]);
  }

  handles({ operation }: AdmissionAttributes): boolean {
    return operation !== 'CONNECT';
  }

  admit(attributes: AdmissionAttributes): MaybePromise<void> {
    const { operation, resource, namespace, name } = attributes;
    if (operation === 'DELETE' && concerns(attributes, 'core', 'namespaces') && this.#protected.has(name))
      throw this.refusal(attributes, 'this namespace may not be deleted');
    if (!resource.namespaced || namespace === '' || operation === 'DELETE') return;
    // Access reviews are answered even for namespaces that do not exist.
    if (concerns(attributes, 'authorization', 'localsubjectaccessreviews')) return;
    return andThen(this.#find(namespace), (namespaceObject) => this.#require(attributes, namespaceObject));
  }

  /** Throws 404 if the namespace does not exist, and 403 for new objects in a terminating one. */
  #require(attributes: AdmissionAttributes, namespaceObject: Namespace | undefined): void {
    const { operation, namespace } = attributes;
    if (namespaceObject === undefined) throw notFound({ group: '', resource: 'namespaces' }, namespace);
    if (operation !== 'CREATE' || !isTerminating(namespaceObject)) return;
    const error = this.refusal(
      attributes,
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
    // The cache may not show yet that the namespace was just created or re-created.
    return andThen(this.reader.get(namespaces, '', name), (cached) =>
      cached !== undefined && !isTerminating(cached) ? cached : this.reader.get(namespaces, '', name, 'latest'),
    );
  }
}

function isTerminating(namespace: Namespace): boolean {
  return namespace.metadata.deletionTimestamp !== undefined || namespace.status?.phase === 'Terminating';
}
