/** Digests of the ConfigMaps and Secrets of namespaces; their content is not kept. */
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import { digestOf, type Reference } from '#controllers/rollonchange/references.js';

interface Digested {
  readonly metadata: ObjectMeta;
  readonly digest: string;
}

interface Followed {
  readonly configmap: Informer<Digested>;
  readonly secret: Informer<Digested>;
}

type Content = ApiObject & {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
};

/** Only what identifies the object, and its digest. */
function digested({ metadata: { name, namespace, uid, resourceVersion }, ...content }: Content): Digested {
  const metadata = {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return { metadata, digest: digestOf(content) };
}

export class Digests {
  readonly #informers: InformerFactory;
  readonly #changed: (namespace: string, reference: Reference) => void;
  readonly #namespaces = new Map<string, Followed>();

  /** `changed`: called when an object comes, changes or goes. */
  constructor(informers: InformerFactory, changed: (namespace: string, reference: Reference) => void) {
    this.#informers = informers;
    this.#changed = changed;
  }

  /** Follows the namespace from now on. False until its state is known; then `changed` is called for each object. */
  follow(namespace: string): boolean {
    const followed = this.#namespaces.get(namespace) ?? this.#begin(namespace);
    return followed.configmap.hasSynced() && followed.secret.hasSynced();
  }

  /** Undefined for an object that does not exist. */
  of(namespace: string, reference: Reference): string | undefined {
    const slash = reference.indexOf('/');
    const kind = reference.slice(0, slash) === 'secret' ? 'secret' : 'configmap';
    return this.#namespaces.get(namespace)?.[kind].get(keyFor(namespace, reference.slice(slash + 1)))?.digest;
  }

  #begin(namespace: string): Followed {
    const followed = {
      configmap: this.#informer(configmaps, 'configmap', namespace),
      secret: this.#informer(secrets, 'secret', namespace),
    };
    this.#namespaces.set(namespace, followed);
    return followed;
  }

  #informer(type: ResourceType<Content>, kind: 'configmap' | 'secret', namespace: string): Informer<Digested> {
    const ofType = type as unknown as ResourceType<Digested>;
    const transform = digested as unknown as (object: Digested) => Digested;
    const informer = this.#informers.informer(ofType, { namespace, transform });
    const changed = ({ metadata }: Digested) => this.#changed(namespace, `${kind}/${metadata.name ?? ''}`);
    informer.addHandler({
      onAdd: changed,
      onUpdate: (now, old) => {
        if (now.digest !== old.digest) changed(now);
      },
      onDelete: changed,
    });
    return informer;
  }
}
