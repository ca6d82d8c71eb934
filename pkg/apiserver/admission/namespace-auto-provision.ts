/** Creates the namespace of a new object if it does not exist. */
import { namespaces } from '#api/core/v1/resources.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { hasReason, isAlreadyExists } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { ReadingPlugin, type ReadingPluginOptions } from '#apiserver/admission/plugin.js';
import type { Client } from '#client/client.js';

export interface NamespaceAutoProvisionOptions extends ReadingPluginOptions {
  /** A client of this server with all rights. */
  readonly client: () => Client;
}

export class NamespaceAutoProvision extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'NamespaceAutoProvision';
  readonly #client: () => Client;

  constructor(options: NamespaceAutoProvisionOptions) {
    super(options);
    this.#client = options.client;
  }

  /** Nothing is created for dry runs. */
  handles({ operation, resource, namespace, dryRun }: AdmissionAttributes): boolean {
    return operation === 'CREATE' && resource.namespaced && namespace !== '' && !dryRun;
  }

  admit(attributes: AdmissionAttributes): MaybePromise<void> {
    return andThen(this.reader.outline(namespaces, '', attributes.namespace), (namespace) =>
      namespace === undefined ? this.#provision(attributes) : undefined,
    );
  }

  async #provision(attributes: AdmissionAttributes): Promise<void> {
    const { namespace: name } = attributes;
    try {
      await this.#client().resource(namespaces).create({ metadata: { name }, spec: {} });
    } catch (error) {
      // The cache does not show the namespace yet, or another request created it.
      if (isAlreadyExists(error)) return;
      throw hasReason(error, 'Forbidden') ? error : this.refusal(attributes, messageOf(error));
    }
  }
}
