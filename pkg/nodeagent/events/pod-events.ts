/** Events about pods and their containers. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { EventType } from '#client/events/correlator.js';
import type { EventRecorder } from '#client/events/recorder.js';

export class PodEvents {
  readonly #recorder: EventRecorder;

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  #reference(pod: Pod) {
    const { name = '', namespace = '', uid = '', resourceVersion = '' } = pod.metadata;
    return { apiVersion: 'v1', kind: 'Pod', name, namespace, uid, resourceVersion };
  }

  /** `annotations`: of the Event object. */
  pod(
    pod: Pod,
    type: EventType,
    reason: string,
    message: string,
    annotations?: Readonly<Record<string, string>>,
  ): void {
    this.#recorder.record(this.#reference(pod), type, reason, message, annotations);
  }

  container(pod: Pod, container: Pick<Container, 'name'>, type: EventType, reason: string, message: string): void {
    const list = pod.spec.initContainers?.some((c) => c.name === container.name)
      ? 'initContainers'
      : pod.spec.ephemeralContainers?.some((c) => c.name === container.name)
        ? 'ephemeralContainers'
        : 'containers';
    const fieldPath = `spec.${list}{${container.name}}`;
    this.#recorder.record({ ...this.#reference(pod), fieldPath }, type, reason, message);
  }
}
