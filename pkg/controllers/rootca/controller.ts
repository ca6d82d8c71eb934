/** Publishes the CA bundle of the API server in a ConfigMap in each namespace. */
import { configmaps, namespaces } from '#api/core/v1/resources.gen.js';
import type { ConfigMap, Namespace } from '#api/core/v1/types.gen.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import type { Followed } from '#daemon/certificates/followed-file.js';

const dataKey = 'ca.crt';

export interface RootCAOptions {
  /** PEM bundle. */
  readonly rootCA: Followed<string>;
}

export class RootCAController implements Controller {
  readonly name = 'root-ca-cert-publisher';
  readonly #context: ControllerContext;
  readonly #rootCA: Followed<string>;
  readonly #namespaces: Informer<Namespace>;
  readonly #maps: Informer<ConfigMap>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, options: RootCAOptions) {
    this.#context = context;
    this.#rootCA = options.rootCA;
    this.#namespaces = sharedInformer(context.informers, namespaces);
    // Watch only the maps with this name.
    this.#maps = context.informers.informer(configmaps, {
      fieldSelector: `metadata.name=${context.dialect.rootCAConfigMap}`,
    });
    this.#loop = new ReconcileLoop(context, {
      name: 'root_ca_cert_publisher',
      concurrency: 1,
      reconcile: (name) => this.#reconcile(name),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    const add = (namespace: Namespace) => queue.add(keyOf(namespace));
    const addOf = (map: ConfigMap) => queue.add(map.metadata.namespace ?? '');
    this.#rootCA.onChange(() => {
      for (const namespace of this.#namespaces.list()) add(namespace);
    }, signal);
    await this.#loop.run(signal, [
      this.#namespaces.addHandler({ onAdd: add, onUpdate: add }),
      this.#maps.addHandler({ onUpdate: addOf, onDelete: addOf }),
    ]);
  }

  async #reconcile(name: string): Promise<Outcome> {
    const { client, dialect } = this.#context;
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined || namespace.status?.phase === 'Terminating') return done;
    const desired = this.#desiredMap(name);
    const current = this.#maps.get(keyFor(name, dialect.rootCAConfigMap));
    try {
      if (current === undefined) await client.resource(configmaps).create(desired);
      else if (!this.#isUpToDate(current)) {
        const metadata = {
          ...current.metadata,
          annotations: { ...current.metadata.annotations, ...desired.metadata.annotations },
        };
        await client.resource(configmaps).update({ ...current, metadata, data: desired.data ?? {} });
      }
    } catch (error) {
      if (!isAlreadyExists(error) && !isNotFound(error) && !isNamespaceTerminating(error)) throw error;
    }
    return done;
  }

  #isUpToDate(map: ConfigMap): boolean {
    const data = map.data ?? {};
    if ((map.metadata.annotations?.[this.#context.dialect.annotations.description] ?? '') === '') return false;
    return data[dataKey] === this.#rootCA.current && Object.keys(data).length === 1;
  }

  #desiredMap(namespace: string): ConfigMap {
    const { dialect } = this.#context;
    const { components, apiServiceName, displayName } = dialect;
    const service = `${apiServiceName}.default.svc`;
    const description = [
      `Contains a CA bundle that can be used to verify the ${components.apiServer} when using internal endpoints such as the`,
      `internal service IP or ${service}. No other usage is guaranteed across distributions of ${displayName} clusters.`,
    ].join(' ');
    return {
      metadata: {
        name: dialect.rootCAConfigMap,
        namespace,
        annotations: { [dialect.annotations.description]: description },
      },
      data: { [dataKey]: this.#rootCA.current },
    };
  }
}
