/** Every page of the dashboard, and a text that only the complete page has. */
import { nodeName, podName, teamOf } from '#test/bench/dashboard/cluster-objects.js';

export interface WalkedPage {
  readonly name: string;
  readonly path: string;
  /** In its first useful state. */
  readonly text: string;
}

const pod = `/ui/objects/core/pods/${teamOf(0)}/${podName(0)}`;

export const walkedPages: readonly WalkedPage[] = [
  { name: 'overview', path: '/ui/', text: 'CrashLoopBackOff' },
  { name: 'pods', path: '/ui/kinds/core/pods', text: podName(0) },
  { name: 'nodes', path: '/ui/kinds/core/nodes', text: nodeName(0) },
  { name: 'deployments', path: '/ui/kinds/apps/deployments', text: 'web-0' },
  { name: 'kinds', path: '/ui/kinds', text: 'NetworkPolicy' },
  { name: 'pod', path: pod, text: '10.0.0.0' },
  { name: 'pod: events', path: `${pod}/events`, text: 'No events.' },
  { name: 'pod: owners', path: `${pod}/tree`, text: 'web-0-6d4cf56db6' },
  { name: 'pod: YAML', path: `${pod}/yaml`, text: 'apiVersion: v1' },
  { name: 'map of nodes', path: '/ui/nodes', text: 'Choose a node' },
  { name: 'a node', path: `/ui/nodes?node=${nodeName(0)}`, text: podName(0) },
  { name: 'topology', path: `/ui/topology?namespace=${teamOf(0)}`, text: 'Workloads' },
  { name: 'access', path: `/ui/access?namespace=${teamOf(0)}`, text: 'What may I do here' },
];
