import type { Service } from '#api/core/v1/types.gen.js';
import { type LabelSelector, selectorFromLabels } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';

interface Labelled {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  };
}

/** Index of services by the first label that they ask for. */
const selectorIndex = 'firstSelectedLabel';

/** Without a label: of services that select all pods. */
function selectorKey({ metadata }: Labelled, label: readonly [string, string] | undefined): string {
  return `${metadata.namespace}/${label?.join('=') ?? ''}`;
}

/** Finds the services that select a pod without asking all of its namespace. */
export class ServicesByLabels {
  readonly #services: Informer<Service>;
  /** Made once: every pod is held against those that share a label with it. */
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

  /** Services of the pod's namespace that have a selector which its labels meet. */
  selecting(pod: Labelled): Service[] {
    const { labels } = pod.metadata;
    return [undefined, ...Object.entries(labels ?? {})].flatMap((label) =>
      this.#services
        .byIndex(selectorIndex, selectorKey(pod, label))
        .filter((service) => this.#selectorOf(service).matches(labels)),
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
