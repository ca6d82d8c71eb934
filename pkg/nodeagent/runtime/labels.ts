/** Labels by which the node agent recognizes its sandboxes and containers after a restart. */
import { createHash } from 'node:crypto';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Label and annotation names of a dialect. */
export class RuntimeLabels {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUID: string;
  readonly containerName: string;
  /** Annotation: hash of the fields whose change restarts the container. */
  readonly hash: string;
  readonly restartCount: string;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  readonly podTerminationGracePeriod: string;

  constructor(dialect: Dialect) {
    const prefix = dialect.runtimeLabelPrefix;
    this.podName = `${prefix}.pod.name`;
    this.podNamespace = `${prefix}.pod.namespace`;
    this.podUID = `${prefix}.pod.uid`;
    this.containerName = `${prefix}.container.name`;
    this.hash = `${prefix}.container.hash`;
    this.restartCount = `${prefix}.container.restartCount`;
    this.terminationMessagePath = `${prefix}.container.terminationMessagePath`;
    this.terminationMessagePolicy = `${prefix}.container.terminationMessagePolicy`;
    this.podTerminationGracePeriod = `${prefix}.pod.terminationGracePeriod`;
  }

  pod(pod: Pod): Record<string, string> {
    return {
      [this.podName]: pod.metadata.name ?? '',
      [this.podNamespace]: pod.metadata.namespace ?? '',
      [this.podUID]: pod.metadata.uid ?? '',
    };
  }
}

/** Changes when the container must be replaced: the image is the only mutable field that requires it. */
export function containerHash(container: Pick<Container, 'name' | 'image'>): string {
  return createHash('sha256')
    .update(JSON.stringify([container.name, container.image]))
    .digest('hex')
    .slice(0, 8);
}
