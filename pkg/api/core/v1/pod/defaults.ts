/** Defaults of pods, of templates of pods, and of their parts. All of them fill in place. */

import { imageTag } from '#api/core/v1/pod/image-name.js';
import { containerLists } from '#api/core/v1/pod/parts/containers.js';
import { roundResources } from '#api/core/v1/resources/rounding.js';
import type { Container, ContainerPort, Pod, PodSpec, Volume } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';

/** A pod: what a template gets, and what only pods get. */
export function defaultPod(pod: Draft<Pod>, dialect: Dialect): void {
  const spec = pod.spec;
  for (const container of spec.containers ?? []) defaultRequestsFromLimits(container);
  for (const container of spec.initContainers ?? []) defaultRequestsFromLimits(container);
  spec.enableServiceLinks ??= true;
  defaultPodSpec(spec, dialect);
  syncPodIPs(pod);
}

/** Whoever limits a resource and says nothing else asks for as much. */
function defaultRequestsFromLimits(container: Draft<Container>): void {
  const { resources } = container;
  if (resources?.limits === undefined) return;
  for (const name of Object.keys(resources.limits)) {
    resources.requests ??= {};
    resources.requests[name] ??= resources.limits[name] ?? '';
  }
}

/** The singular address is the first of the list; where they differ, the singular one counts. */
function syncPodIPs(pod: Draft<Pod>): void {
  const status = pod.status;
  if (status === undefined) return;
  const first = status.podIPs?.[0]?.ip;
  if ((status.podIP ?? '') === '') {
    if (first !== undefined) status.podIP = first;
  } else if (first !== status.podIP) status.podIPs = [{ ip: status.podIP ?? '' }];
}

/** A pod's spec, in a pod or in a template. */
export function defaultPodSpec(spec: Draft<PodSpec>, dialect: Dialect): void {
  spec.schedulerName ||= dialect.components.defaultScheduler;
  defaultServiceAccount(spec);
  for (const list of containerLists) {
    for (const container of spec[list] ?? []) {
      if (spec.hostNetwork === true && list !== 'ephemeralContainers') defaultHostPorts(container.ports ?? []);
      defaultContainer(container);
    }
  }
  for (const volume of spec.volumes ?? []) if (hasNoSource(volume)) volume.emptyDir = {};
  roundResources(spec.overhead);
}

/** The field's two names always say the same; the newer one wins. */
function defaultServiceAccount(spec: Draft<PodSpec>): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (name === undefined || name === '') return;
  if (spec.serviceAccountName !== name) spec.serviceAccountName = name;
  if (spec.serviceAccount !== name) spec.serviceAccount = name;
}

/** In the host's network a container's port is the host's. */
function defaultHostPorts(ports: Draft<ContainerPort[]>): void {
  for (const port of ports) port.hostPort ||= port.containerPort;
}

function defaultContainer(container: Draft<Container>): void {
  container.imagePullPolicy ||= pullPolicyOf(container.image ?? '');
  roundResources(container.resources?.limits);
  roundResources(container.resources?.requests);
}

/** An image that may move under its name (no tag, or `latest`) is pulled every time. What is no image has no tag either. */
export function pullPolicyOf(image: string): 'Always' | 'IfNotPresent' {
  return imageTag(image) === 'latest' ? 'Always' : 'IfNotPresent';
}

function hasNoSource(volume: Volume): boolean {
  for (const field in volume) if (field !== 'name') return false;
  return true;
}
