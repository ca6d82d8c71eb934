import type { Service } from '#api/core/v1/types.gen.js';
import { type LabelSelector, selectorFromLabels } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';

interface Labelled {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  };
}

/** Index of services by the first label of their selectors. */
const selectorIndex = 'firstSelectedLabel';

/** The index key for a label; without a label, of services with an empty selector, which select all pods. */
function selectorKey({ metadata }: Labelled, label: readonly [string, string] | undefined): string {
  return `${metadata.namespace}/${label?.join('=') ?? ''}`;
}

/** Finds the services that select a pod without iterating over all services of its namespace. */
export class ServicesByLabels {
  readonly #services: Informer<Service>;
  /** Compiled selectors, matched against pods that share a label with the service. */
  readonly #selectors = new WeakMap<Service, LabelSelector>();

  constructor(services: Informer<Service>) {
    this.#services = services;
    services.addIndexers({
      [selectorIndex]: (service) => {
        const { selector } = service.spec;
        return selector === undefined ? [] : [selectorKey(service, Object.entries(selector)[0])];
      },
    });
  }

  /** Services in the pod's namespace whose selector matches its labels. */
  selecting(pod: Labelled): Service[] {
    const { labels } = pod.metadata;
    return [undefined, ...Object.entries(labels ?? {})].flatMap((label) =>
      this.#services
        .byIndex(selectorIndex, selectorKey(pod, label))
        .filter((service) => this.#selectorOf(service).matches(labels)),
    );
  }

  #selectorOf(service: Service): LabelSelector {
    const cachedSelector = this.#selectors.get(service);
    if (cachedSelector !== undefined) return cachedSelector;
    const selector = selectorFromLabels(service.spec.selector);
    this.#selectors.set(service, selector);
    return selector;
  }
}
