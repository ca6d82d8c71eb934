import t from 'tap';
import { computeQosClass, podLimits, podRequests } from '#api/core/v1/pod/resources.js';
import type { Container, PodSpec } from '#api/core/v1/types.gen.js';

type Lists = { requests?: Record<string, string>; limits?: Record<string, string> };

function spec(containers: Lists[], init: Lists[] = [], overhead?: Record<string, string>): PodSpec {
  const make = (resources: Lists, i: number): Container => ({ name: `c${i}`, resources });
  return {
    containers: containers.map(make),
    initContainers: init.map(make),
    ...(overhead !== undefined && { overhead }),
  };
}

const cpu = (requests: string, limits?: string): Lists => ({
  requests: { cpu: requests },
  ...(limits !== undefined && { limits: { cpu: limits } }),
});

t.test('requests of a pod', (t) => {
  const rows: [string, PodSpec, Record<string, string>][] = [
    ['nothing', spec([{}]), {}],
    ['sum of the containers', spec([cpu('100m'), cpu('900m')]), { cpu: '1' }],
    ['a smaller init container does not count', spec([cpu('2')], [cpu('1')]), { cpu: '2' }],
    ['the largest init container counts', spec([cpu('1')], [cpu('2'), cpu('3')]), { cpu: '3' }],
    ['per resource', spec([cpu('1')], [{ requests: { memory: '1Gi' } }]), { cpu: '1', memory: '1Gi' }],
    ['overhead on top', spec([cpu('1')], [cpu('2')], { cpu: '500m', memory: '1Mi' }), { cpu: '2500m', memory: '1Mi' }],
  ];
  for (const [name, pod, want] of rows) t.strictSame(podRequests({ spec: pod }), want, name);
  t.end();
});

t.test('limits of a pod take overhead only where there is a limit', (t) => {
  const pod = spec([cpu('1', '2')], [], { cpu: '500m', memory: '1Mi' });
  t.strictSame(podLimits({ spec: pod }), { cpu: '2500m' });
  t.end();
});

t.test('quality of service', (t) => {
  const both = (a: string, b: string): Lists => ({
    requests: { cpu: a, memory: a },
    limits: { cpu: b, memory: b },
  });
  const rows: [string, PodSpec, string][] = [
    ['nothing', spec([{}]), 'BestEffort'],
    ['zero is nothing', spec([cpu('0', '0')]), 'BestEffort'],
    ['other resources do not count', spec([{ requests: { 'example.com/gpu': '1' } }]), 'BestEffort'],
    ['requests only', spec([cpu('1')]), 'Burstable'],
    ['limits of cpu only', spec([cpu('1', '1')]), 'Burstable'],
    ['equal', spec([both('1', '1')]), 'Guaranteed'],
    ['equal in different units', spec([both('1', '1000m')]), 'Guaranteed'],
    ['limit above request', spec([both('1', '2')]), 'Burstable'],
    ['one container without', spec([both('1', '1'), {}]), 'Burstable'],
    ['one init container without', spec([both('1', '1')], [{}]), 'Burstable'],
    ['all containers', spec([both('1', '1')], [both('2', '2')]), 'Guaranteed'],
    ['limits without requests', spec([{ limits: { cpu: '1', memory: '1' } }]), 'Burstable'],
  ];
  for (const [name, pod, want] of rows) t.equal(computeQosClass(pod), want, name);
  t.end();
});
