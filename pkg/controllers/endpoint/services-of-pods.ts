/** Tells which services have to be looked at when pods change. */
import { pods as podType, services as serviceType } from '#api/core/v1/resources.gen.js';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import { type LabelSelector, selectorFromLabels } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';
import { changesEndpoints, selectsPods } from '#controllers/endpoint/members.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { indexByLabel, sharedInformer, withFirstLabel } from '#controllers/framework/informers.js';

/** Index of services that select pods by the first label that they ask for. */
const selectorIndex = 'firstSelectedLabel';

/** Without a label: of services that select all pods. */
function selectorKey({ metadata }: Pod | Service, label: readonly [string, string] | undefined): string {
  return `${metadata.namespace}/${label?.join('=') ?? ''}`;
}

export class ServicesOfPods {
  readonly services: Informer<Service>;
  readonly pods: Informer<Pod>;
  /** Made once: every pod that changes is held against all of its namespace. */
  readonly #selectors = new WeakMap<Service, LabelSelector>();

  constructor(context: ControllerContext) {
    this.services = sharedInformer(context.informers, serviceType);
    this.pods = sharedInformer(context.informers, podType);
    indexByLabel(this.pods);
    this.services.addIndexers({
      [selectorIndex]: (service) => {
        const [first] = Object.entries(service.spec.selector ?? {});
        return selectsPods(service) ? [selectorKey(service, first)] : [];
      },
    });
  }

  /** Those that the service may select. */
  candidates({ metadata, spec }: Service): Pod[] {
    return withFirstLabel(this.pods, metadata.namespace ?? '', spec.selector);
  }

  /** Calls `changed` with the key of each service whose endpoints may have changed. */
  watch(changed: (serviceKey: string, because: 'service' | 'pod') => void): () => void {
    const service = (object: Service) => changed(keyOf(object), 'service');
    const pod = (object: Pod) => {
      for (const each of this.servicesOf(object)) changed(keyOf(each), 'pod');
    };
    const remove = [
      this.services.addHandler({ onAdd: service, onUpdate: service, onDelete: service }),
      this.pods.addHandler({
        onAdd: pod,
        onDelete: pod,
        onUpdate: (object, old) => {
          if (!changesEndpoints(object, old)) return;
          pod(object);
          pod(old);
        },
      }),
    ];
    return () => {
      for (const unwatch of remove) unwatch();
    };
  }

  servicesOf(pod: Pod): Service[] {
    const { labels } = pod.metadata;
    return [undefined, ...Object.entries(labels ?? {})].flatMap((label) =>
      this.services
        .byIndex(selectorIndex, selectorKey(pod, label))
        .filter((each) => this.#selectorOf(each).matches(labels)),
    );
  }

  #selectorOf(service: Service): LabelSelector {
    const known = this.#selectors.get(service);
    if (known !== undefined) return known;
    const made = selectorFromLabels(service.spec.selector);
    this.#selectors.set(service, made);
    return made;
  }
}
