/** Defaults of pods, of templates of pods, and of their parts. All of them fill in place. */
import { containerLists } from '#api/core/v1/pod/containers.js';
import { imageTag } from '#api/core/v1/pod/image-name.js';
import { defaultVolume } from '#api/core/v1/pod/volume-defaults.js';
import type { Container, ContainerPort, EnvVar, HTTPGetAction, Pod, PodSpec, Probe } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { roundUpToMilli } from '#apimachinery/quantity.js';

const defaultGracePeriodSeconds = 30;
const terminationMessagePath = '/dev/termination-log';

/** A pod: what a template gets, and what only pods get. */
export function defaultPod(pod: Pod, dialect: Dialect): void {
  const spec = pod.spec;
  for (const container of spec.containers ?? []) defaultRequestsFromLimits(container);
  for (const container of spec.initContainers ?? []) defaultRequestsFromLimits(container);
  spec.enableServiceLinks ??= true;
  defaultPodSpec(spec, dialect);
  syncPodIPs(pod);
}

/** Whoever limits a resource and says nothing else asks for as much. */
function defaultRequestsFromLimits(container: Container): void {
  const { resources } = container;
  if (resources?.limits === undefined) return;
  for (const name of Object.keys(resources.limits)) {
    resources.requests ??= {};
    resources.requests[name] ??= resources.limits[name] ?? '';
  }
}

/** The singular address is the first of the list; where they differ, the singular one counts. */
function syncPodIPs(pod: Pod): void {
  const status = pod.status;
  if (status === undefined) return;
  const first = status.podIPs?.[0]?.ip;
  if ((status.podIP ?? '') === '') {
    if (first !== undefined) status.podIP = first;
  } else if (first !== status.podIP) status.podIPs = [{ ip: status.podIP ?? '' }];
}

/** A pod's spec, in a pod or in a template. */
export function defaultPodSpec(spec: PodSpec, dialect: Dialect): void {
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.restartPolicy ||= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= defaultGracePeriodSeconds;
  spec.schedulerName ||= dialect.components.defaultScheduler;
  defaultServiceAccount(spec);
  for (const list of containerLists) {
    for (const container of spec[list] ?? []) {
      if (spec.hostNetwork === true && list !== 'ephemeralContainers') defaultHostPorts(container.ports ?? []);
      defaultContainer(container);
    }
  }
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  roundList(spec.overhead);
}

/** The field's two names always say the same; the newer one wins. */
function defaultServiceAccount(spec: PodSpec): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (name === undefined || name === '') return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

/** In the host's network a container's port is the host's. */
function defaultHostPorts(ports: ContainerPort[]): void {
  for (const port of ports) port.hostPort ||= port.containerPort;
}

function defaultContainer(container: Container): void {
  container.terminationMessagePath ||= terminationMessagePath;
  container.terminationMessagePolicy ||= 'File';
  container.imagePullPolicy ||= pullPolicyOf(container.image ?? '');
  roundList(container.resources?.limits);
  roundList(container.resources?.requests);
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const variable of container.env ?? []) defaultEnvVar(variable);
  defaultProbe(container.livenessProbe);
  defaultProbe(container.readinessProbe);
  defaultProbe(container.startupProbe);
  defaultHTTPGet(container.lifecycle?.postStart?.httpGet);
  defaultHTTPGet(container.lifecycle?.preStop?.httpGet);
}

function defaultEnvVar(variable: EnvVar): void {
  const ref = variable.valueFrom?.fieldRef;
  if (ref !== undefined) ref.apiVersion ||= 'v1';
}

function defaultProbe(probe: Probe | undefined): void {
  if (probe === undefined) return;
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHTTPGet(probe.httpGet);
  if (probe.grpc !== undefined) probe.grpc.service ??= '';
}

function defaultHTTPGet(action: HTTPGetAction | undefined): void {
  if (action === undefined) return;
  action.path ||= '/';
  action.scheme ||= 'HTTP';
}

/** An image that may move under its name (no tag, or `latest`) is pulled every time. What is no image has no tag either. */
export function pullPolicyOf(image: string): 'Always' | 'IfNotPresent' {
  return imageTag(image) === 'latest' ? 'Always' : 'IfNotPresent';
}

/** Resources are kept to a thousandth at the finest. */
function roundList(list: Record<string, string> | undefined): void {
  if (list === undefined) return;
  for (const name of Object.keys(list)) list[name] = roundUpToMilli(list[name] ?? '');
}
