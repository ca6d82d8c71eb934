import { useLayoutEffect, useRef } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { ScrollBox } from '#dashboard/client/parts/scroll-box.js';
import { UsagePlots } from '#dashboard/client/parts/usage-plots.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { amountOf, bytesText, coresText, type NodeFill } from '#dashboard/model/node-fill.js';
import { objectLink } from '#dashboard/model/places.js';
import type { PodObject } from '#dashboard/model/pods.js';

interface Share {
  readonly pod: PodObject;
  readonly cpu: number;
  readonly memory: number;
}

/** What fills a node: the requests of its pods, the largest first. */
export function NodeDetail({ node }: { readonly node: NodeFill }) {
  const { catalog } = useApp();
  const state = useLive<'objects'>({
    type: 'objects',
    sources: [{ path: '/api/v1/pods', fieldSelector: `spec.nodeName=${node.name}` }],
  });
  const list = state?.lists[0];
  const shares = ((list?.items ?? []) as readonly PodObject[])
    .filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed')
    .map(shareOfPod)
    .sort(
      (a, b) =>
        b.cpu / node.cpuLimit + b.memory / node.memoryLimit - a.cpu / node.cpuLimit - a.memory / node.memoryLimit,
    );
  const cpu = shares.reduce((sum, share) => sum + share.cpu, 0);
  const memory = shares.reduce((sum, share) => sum + share.memory, 0);
  const nodes = catalog.find('', 'nodes');
  const pods = catalog.find('', 'pods');
  return (
    <>
      <section class="card" aria-label={`What fills ${node.name}`}>
        <h2>
          What fills{' '}
          {nodes === undefined ? node.name : <a href={objectLink(nodes, undefined, node.name)}>{node.name}</a>}
        </h2>
        <TroubleNotice trouble={list?.trouble} />
        <Bar
          title="CPU requested"
          used={cpu}
          limit={node.cpuLimit}
          text={`${coresText(cpu)} of ${coresText(node.cpuLimit)}`}
        />
        <Bar
          title="Memory requested"
          used={memory}
          limit={node.memoryLimit}
          text={`${bytesText(memory)} of ${bytesText(node.memoryLimit)}`}
        />
        {list === undefined ? <Quiet>Loading…</Quiet> : null}
        <ScrollBox label="Pods">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Namespace</th>
                <th scope="col">Pod</th>
                <th scope="col">CPU requested</th>
                <th scope="col">Memory requested</th>
              </tr>
            </thead>
            <tbody>
              {shares.map((share) => {
                const { name = '', namespace = '', uid } = share.pod.metadata;
                return (
                  <tr key={uid}>
                    <td>{namespace}</td>
                    <td>{pods === undefined ? name : <a href={objectLink(pods, namespace, name)}>{name}</a>}</td>
                    <td>{coresText(share.cpu)}</td>
                    <td>{bytesText(share.memory)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </ScrollBox>
      </section>
      <UsagePlots resource="nodes" name={node.name} cpuLimit={node.cpuLimit} memoryLimit={node.memoryLimit} />
    </>
  );
}

interface BarProps {
  readonly title: string;
  readonly used: number;
  readonly limit: number;
  readonly text: string;
}

function Bar({ title, used, limit, text }: BarProps) {
  const bar = useRef<HTMLElement>(null);
  const percent = limit === 0 ? 0 : Math.min(100, Math.round((used / limit) * 100));
  useLayoutEffect(() => {
    bar.current?.style.setProperty('width', `${percent}%`);
  }, [percent]);
  return (
    <div class="bar">
      <span>
        {title}: {text} ({percent} %)
      </span>
      <div class="track">
        <i ref={bar} class={percent > 90 ? 'bad' : ''} />
      </div>
    </div>
  );
}

function shareOfPod(pod: PodObject): Share {
  const requests = pod.spec.containers.map(({ resources }) => resources?.requests);
  return {
    pod,
    cpu: requests.reduce((sum, each) => sum + amountOf(each?.['cpu']) * 1000, 0),
    memory: requests.reduce((sum, each) => sum + amountOf(each?.['memory']), 0),
  };
}
