import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { objectLink } from '#dashboard/model/places.js';
import { type Topology, type TopologyNode, topologyOf } from '#dashboard/model/topology.js';

/** What leads to the pods of a namespace, and which policies stand between. */
export function TopologyPage() {
  const { dialect, namespace } = useApp();
  const inside = namespace ?? dialect.namespaces.default;
  const place = `/namespaces/${encodeURIComponent(inside)}`;
  const group = dialect.groupName('networking');
  const state = useLive<'objects'>({
    type: 'objects',
    sources: [
      { path: `/apis/${group}/v1${place}/ingresses` },
      { path: `/api/v1${place}/services` },
      { path: `/api/v1${place}/pods` },
      { path: `/apis/${group}/v1${place}/networkpolicies` },
    ],
  });
  const topology = useMemo(() => {
    const [ingresses, services, pods, policies] = (state?.lists ?? []).map(({ items }) => items);
    return topologyOf({
      ...{ ingresses: ingresses ?? [], services: services ?? [], pods: pods ?? [], policies: policies ?? [] },
      networkingGroup: group,
    });
  }, [state, group]);
  const isEmpty = topology.services.length + topology.workloads.length === 0;
  return (
    <div class="page">
      <header class="page-head">
        <h1>Topology</h1>
        <p class="count">Namespace {inside}</p>
      </header>
      <TroubleNotice trouble={state?.lists.find(({ trouble }) => trouble !== undefined)?.trouble} />
      {state === undefined ? <Quiet>Loading…</Quiet> : null}
      {state !== undefined && isEmpty ? (
        <Quiet>There are no services and no pods here. Choose another namespace.</Quiet>
      ) : null}
      {isEmpty ? null : <TopologyMap topology={topology} namespace={inside} />}
    </div>
  );
}

function TopologyMap({ topology, namespace }: { readonly topology: Topology; readonly namespace: string }) {
  const box = useRef<HTMLDivElement>(null);
  const lines = useRef<SVGSVGElement>(null);
  useLayoutEffect(() => {
    const draw = () => drawLines(box.current, lines.current, topology);
    draw();
    const observer = new ResizeObserver(draw);
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, [topology]);
  const columns = [
    { title: 'Ingresses', nodes: topology.ingresses },
    { title: 'Services', nodes: topology.services },
    { title: 'Workloads', nodes: topology.workloads },
  ];
  const shown = columns.filter(({ nodes }) => nodes.length > 0);
  return (
    <div class="topology" ref={box}>
      <svg ref={lines} aria-hidden="true" />
      {shown.map(({ title, nodes }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ul>
            {nodes.map((node) => (
              <Box key={node.id} node={node} namespace={namespace} topology={topology} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

interface BoxProps {
  readonly node: TopologyNode;
  readonly namespace: string;
  readonly topology: Topology;
}

function Box({ node, namespace, topology }: BoxProps) {
  const targets = topology.edges.filter(([from]) => from === node.id).map(([, to]) => to.replace('/', ' '));
  return (
    <li class={`box${node.isBad ? ' bad' : ''}`} data-id={node.id}>
      <p>
        <span class="kind">{node.kind}</span> <a href={objectLink(node, namespace, node.name)}>{node.name}</a>
      </p>
      <p class={node.isBad ? 'status bad' : 'note'}>{node.note}</p>
      {targets.length > 0 ? <p class="hidden">leads to {targets.join(', ')}</p> : null}
      {node.policies.map((text) => (
        <p key={text} class="policy">
          Policy {text}
        </p>
      ))}
    </li>
  );
}

/** Lines between the boxes where they are, in the picture behind them. */
function drawLines(box: HTMLElement | null, picture: SVGSVGElement | null, { edges }: Topology): void {
  if (box === null || picture === null) return;
  const frame = box.getBoundingClientRect();
  picture.setAttribute('viewBox', `0 0 ${frame.width} ${frame.height}`);
  const places = new Map(
    [...box.querySelectorAll<HTMLElement>('[data-id]')].map((element) => [
      element.dataset['id'],
      element.getBoundingClientRect(),
    ]),
  );
  const paths = edges.flatMap(([from, to]) => {
    const [a, b] = [places.get(from), places.get(to)];
    if (a === undefined || b === undefined) return [];
    const [x1, y1] = [a.right - frame.left, a.top + a.height / 2 - frame.top];
    const [x2, y2] = [b.left - frame.left, b.top + b.height / 2 - frame.top];
    const middle = (x1 + x2) / 2;
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`);
    return [path];
  });
  picture.replaceChildren(...paths);
}
