/** Finds the services to reconcile when pods change. */
import { pods as podType, services as serviceType } from '#api/core/v1/resources.gen.js';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { ServicesByLabels } from '#client/informer/services-by-labels.js';
import { changesEndpoints, selectsPods } from '#controllers/endpoint/members.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { indexByLabel, sharedInformer, withFirstLabel } from '#controllers/framework/informers.js';

export class ServicesOfPods {
  readonly services: Informer<Service>;
  readonly pods: Informer<Pod>;
  readonly #byLabels: ServicesByLabels;

  constructor(context: ControllerContext) {
    this.services = sharedInformer(context.informers, serviceType);
    this.pods = sharedInformer(context.informers, podType);
    indexByLabel(this.pods);
    this.#byLabels = new ServicesByLabels(this.services);
  }

  /** Pods that the service may select. */
  candidates({ metadata, spec }: Service): Pod[] {
    return withFirstLabel(this.pods, metadata.namespace ?? '', spec.selector);
  }

  /** Calls `changed` with the key of each service whose endpoints may have changed. */
  watch(changed: (serviceKey: string, cause: 'service' | 'pod') => void): () => void {
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
    return this.#byLabels.selecting(pod).filter(selectsPods);
  }
}
