/** What the loops of one process have left to do, for clusters that wait until it is nothing. */
import type { ApiEventRecorder } from '#client/events/recorder.js';
import type { InformerState, SharedInformerFactory } from '#client/informer/factory.js';
import type { ControllerManager } from '#controllers/manager.js';
import type { NodeAgent } from '#nodeagent/nodeagent.js';
import type { Scheduler } from '#scheduler/scheduler.js';

/** The parts of a process that work by themselves, in the order in which they were started. */
export class ProcessActivity {
  readonly #managers: ControllerManager[] = [];
  readonly #schedulers: Scheduler[] = [];
  readonly #nodes: NodeAgent[] = [];
  readonly #informers: SharedInformerFactory[] = [];
  readonly #recorders: { readonly name: string; readonly recorder: ApiEventRecorder }[] = [];

  addManager(manager: ControllerManager): void {
    this.#managers.push(manager);
  }

  addScheduler(scheduler: Scheduler): void {
    this.#schedulers.push(scheduler);
  }

  addNode(agent: NodeAgent): void {
    this.#nodes.push(agent);
  }

  addInformers(informers: SharedInformerFactory): void {
    this.#informers.push(informers);
  }

  addRecorder(name: string, recorder: ApiEventRecorder): void {
    this.#recorders.push({ name, recorder });
  }

  /** The work queues of controllers. */
  *queues(): Generator<{ readonly name: string; readonly queue: ReturnType<typeof queueOf> }> {
    for (const manager of this.#managers) {
      for (const loop of manager.loops()) yield { name: loop.name, queue: queueOf(loop) };
    }
  }

  /** Schedulers and running node agents. */
  *agents(): Generator<{ readonly name: string; unfinished(): readonly string[] }> {
    yield* this.#schedulers;
    for (const agent of this.#nodes) {
      if (agent.isRunning) yield { name: `node ${agent.nodeName}`, unfinished: () => agent.unfinished() };
    }
  }

  *recorders(): Generator<{ readonly name: string; readonly unsent: number }> {
    for (const { name, recorder } of this.#recorders) yield { name, unsent: recorder.unsent };
  }

  /** The informers of controllers and scheduler, and of the nodes that run. */
  *informers(): Generator<InformerState> {
    for (const informers of this.#informers) if (informers.isRunning) yield* informers.states();
  }
}

type Loop = ReturnType<ControllerManager['loops']> extends Iterable<infer L> ? L : never;

function queueOf(loop: Loop): Loop['queue'] {
  return loop.queue;
}
