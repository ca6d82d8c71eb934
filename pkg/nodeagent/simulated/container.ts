/** One simulated container: created → running → exited, controlled by its program and its pod's behaviour. */
import { type Clock, formatTime, type Timer } from '#apimachinery/clock.js';
import type {
  Container,
  ContainerConfig,
  ContainerState,
  ContainerStatus,
  SessionStreams,
} from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import { Attachments } from '#nodeagent/simulated/attachments.js';
import type { Behaviour } from '#nodeagent/simulated/behaviour.js';
import { ContainerUsage } from '#nodeagent/simulated/container-usage.js';
import type { SimulatedLogFiles } from '#nodeagent/simulated/log-files.js';
import { type Program, programOf } from '#nodeagent/simulated/programs.js';
import { ofAttempt } from '#nodeagent/simulated/settings/values.js';
import type { Simulation } from '#nodeagent/simulated/simulation.js';

/** Exit codes after SIGKILL and SIGTERM. */
const killedCode = 137;
const terminatedCode = 143;
const outOfMemory = 'OOMKilled';
const mostStartLines = 10_000;

export interface ContainerContext {
  readonly clock: Clock;
  /** The behaviour of its pod at this moment. */
  readonly behaviour: () => Behaviour;
  readonly simulation: Simulation;
  /** UIDs of the pod and of its controller, if it has one. */
  readonly podUID: string;
  readonly controllerUID: string | undefined;
  readonly logs: SimulatedLogFiles;
  readonly hostname: string;
  /** Directory of the sandbox's logs; empty for none. */
  readonly logDirectory: string;
  readonly imageRef: string;
  onChange(): void;
}

export class SimulatedContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly #context: ContainerContext;
  readonly #createdAt: number;
  readonly #exitWaiters: (() => void)[] = [];
  #state: ContainerState = 'CONTAINER_CREATED';
  #isStarting = false;
  #startedAt = 0;
  /** Start time (monotonic ms). */
  #runsSince = 0;
  #finishedAt = 0;
  #exitCode = 0;
  #reason = '';
  #message = '';
  /** Starts of this container before this one: those of its pod, or those in all pods of its Job. */
  #attempt: number;
  readonly #timers = new Set<Timer>();
  readonly #usage: ContainerUsage;
  /** Attach sessions; created at the container's start. */
  #attachments: Attachments | undefined;

  constructor(id: string, sandboxId: string, config: ContainerConfig, context: ContainerContext) {
    this.id = id;
    this.sandboxId = sandboxId;
    this.config = config;
    this.#context = context;
    this.#createdAt = context.clock.now();
    this.#attempt = config.metadata.attempt;
    this.#usage = new ContainerUsage({
      ...context,
      container: config.metadata.name,
      memoryLimitBytes: config.linux.resources.memoryLimitInBytes ?? 0,
    });
  }

  get state(): ContainerState {
    return this.#state;
  }

  /** While the container is starting, it can neither be started nor removed. */
  get isStarting(): boolean {
    return this.#isStarting;
  }

  get env(): Record<string, string> {
    return Object.fromEntries(this.config.envs.map(({ key, value }) => [key, value]));
  }

  get logPath(): string {
    const { logDirectory } = this.#context;
    return logDirectory === '' || this.config.logPath === '' ? '' : `${logDirectory}/${this.config.logPath}`;
  }

  /** The program of a command in this container. */
  program(argv: readonly string[]): Program {
    return programOf(argv, { env: this.env, hostname: this.#context.hostname });
  }

  async start(): Promise<void> {
    const { clock, simulation, podUID } = this.#context;
    const behaviour = this.#context.behaviour();
    const name = this.config.metadata.name;
    this.#requireCreated();
    if (this.#isStarting) throw new CRIError('Unknown', `container ${this.id} is already in starting state`);
    const latency = behaviour.get('start-latency', name) ?? 0;
    if (latency > 0) {
      this.#isStarting = true;
      await clock.sleep(latency);
      this.#isStarting = false;
      // The container may have ended meanwhile.
      this.#requireCreated();
    }
    const failure = behaviour.get('start-failure', name);
    const times = behaviour.get('start-failure-times', name) ?? Infinity;
    if (failure !== undefined && simulation.count(`start ${podUID} ${name}`) < times) {
      this.#startedAt = clock.now();
      this.#finish(128, 'StartError');
      throw new CRIError('Unknown', failure);
    }
    this.#state = 'CONTAINER_RUNNING';
    this.#startedAt = clock.now();
    this.#runsSince = clock.monotonic();
    this.#run(behaviour);
    this.#context.onChange();
  }

  #run(behaviour: Behaviour): void {
    const name = this.config.metadata.name;
    this.#attempt = this.#countAttempt(behaviour);
    this.#usage.started();
    const program = this.program([...this.config.command, ...this.config.args]);
    this.#write(program);
    const lines = (behaviour.get('log', name) ?? '').replace(/\n$/, '').split('\n').slice(0, mostStartLines);
    const stream = behaviour.get('log-stream', name) ?? 'stdout';
    if (lines.length > 1 || lines[0] !== '') for (const line of lines) this.log(stream, line);
    this.#repeat(behaviour, stream);
    const { stdin, stdinOnce } = this.config;
    // Without standard input, a program reads its end at once.
    const readsInput = program.copiesInput && stdin;
    const code = ofAttempt(behaviour.get('exit-code', name), this.#attempt);
    const endsAlone = code !== undefined || (behaviour.endsByItself(name) && program.isEndless !== true);
    const ownEnd = program.exitAfterMs ?? (endsAlone ? 0 : undefined);
    const exitAfter = ofAttempt(behaviour.get('exit-after', name), this.#attempt) ?? (readsInput ? undefined : ownEnd);
    const exit = () => {
      this.#message = behaviour.get('exit-message', name) ?? '';
      this.#finish(code ?? program.exitCode, behaviour.get('exit-reason', name));
    };
    this.#after(exitAfter, exit);
    const oomAfter = ofAttempt(behaviour.get('oom-after', name), this.#attempt) ?? this.#usage.outOfMemoryAfterMs();
    this.#after(oomAfter, () => this.#finish(killedCode, outOfMemory));
    this.#attachments = new Attachments({
      copiesInput: readsInput,
      stdinOnce,
      log: (line) => this.#append('stdout', line),
      onInputEnd: () => this.#after(program.exitAfterMs ?? 0, exit),
    });
  }

  /** Pods of a Job that fails are replaced, so its attempts are counted over them. */
  #countAttempt(behaviour: Behaviour): number {
    const { simulation, controllerUID } = this.#context;
    const { name, attempt } = this.config.metadata;
    if (controllerUID === undefined || !behaviour.isOfJob) return attempt;
    return simulation.count(`attempt ${controllerUID} ${name}`);
  }

  /** Runs `work` while the container runs; an absent or infinite time never comes. */
  #after(ms: number | undefined, work: () => void): void {
    if (ms === undefined || ms === Infinity) return;
    const timer = this.#context.clock.setTimer(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    this.#timers.add(timer);
  }

  /** Throws CRIError if it was started before. */
  #requireCreated(): void {
    if (this.#state === 'CONTAINER_CREATED') return;
    throw new CRIError('Unknown', `container ${this.id} is in state ${this.#state}`);
  }

  /** Resolves once it has exited. */
  stop(timeoutSeconds: number): Promise<void> {
    if (this.#state === 'CONTAINER_CREATED') this.#finish(terminatedCode, 'Error');
    if (this.#state !== 'CONTAINER_RUNNING') return Promise.resolve();
    const graceMs = timeoutSeconds * 1000;
    const latency = this.#context.behaviour().get('stop-latency', this.config.metadata.name) ?? 0;
    const obeys = latency < graceMs || (latency === 0 && graceMs > 0);
    const delay = obeys ? latency : graceMs;
    const code = obeys ? terminatedCode : killedCode;
    const exited = new Promise<void>((resolve) => this.#exitWaiters.push(resolve));
    if (delay === 0) this.#finish(code);
    else this.#after(delay, () => this.#finish(code));
    return exited;
  }

  kill(): void {
    if (this.#state === 'CONTAINER_RUNNING' || this.#state === 'CONTAINER_CREATED') this.#finish(killedCode);
  }

  #finish(code: number, reason?: string): void {
    if (this.#state === 'CONTAINER_EXITED') return;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    if (this.#state === 'CONTAINER_RUNNING') this.#usage.ended();
    this.#state = 'CONTAINER_EXITED';
    this.#exitCode = code;
    this.#reason = reason ?? (code === 0 ? 'Completed' : 'Error');
    this.#finishedAt = this.#context.clock.now();
    this.#attachments?.end();
    for (const resolve of this.#exitWaiters.splice(0)) resolve();
    this.#context.onChange();
  }

  #write(program: Program): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      for (const line of program[stream].split('\n').slice(0, -1)) this.log(stream, line);
    }
  }

  /** Writes a line of output. */
  log(stream: 'stdout' | 'stderr', text: string): void {
    this.#append(stream, text);
    this.#attachments?.write(stream, `${text}\n`);
  }

  /** Attaches to its streams until it exits or the session ends. */
  async attach(streams: SessionStreams): Promise<void> {
    await this.#attachments?.join(streams);
  }

  #append(stream: 'stdout' | 'stderr', text: string): void {
    if (this.logPath === '') return;
    const time = `${formatTime(this.#context.clock.now()).slice(0, -1)}.000000000Z`;
    this.#context.logs.append(this.logPath, { time, stream, text });
  }

  /** Writes a line at once and then at each interval. `{n}` of its text is the number of lines before. */
  #repeat(behaviour: Behaviour, stream: 'stdout' | 'stderr'): void {
    const name = this.config.metadata.name;
    const everyMs = behaviour.get('log-every', name) ?? 0;
    const most = behaviour.get('log-count', name) ?? Infinity;
    const text = behaviour.get('log-text', name) ?? 'line {n}';
    let count = 0;
    const next = () => {
      if (count >= most) return;
      this.log(stream, text.replaceAll('{n}', String(count++)));
      this.#after(everyMs, next);
    };
    if (everyMs > 0) next();
  }

  /** CPU time since its start. */
  get cpuNanoseconds(): number {
    return this.#usage.cpuNanoseconds(this.runningForMs);
  }

  get memoryBytes(): number {
    return this.#usage.memoryBytes(this.runningForMs);
  }

  /** Whether such a probe fails now. */
  fails(probe: 'liveness' | 'readiness' | 'startup'): boolean {
    const ms = this.runningForMs;
    if (ms < 0) return true;
    const behaviour = this.#context.behaviour();
    const at = (name: 'ready-after' | 'unready-after' | 'unhealthy-after', absent: number) =>
      ofAttempt(behaviour.get(name, this.config.metadata.name), this.#attempt) ?? absent;
    if (ms >= at('unhealthy-after', Infinity)) return true;
    if (probe === 'liveness') return false;
    return ms < at('ready-after', 0) || (probe === 'readiness' && ms >= at('unready-after', Infinity));
  }

  /** Milliseconds since its start; negative if it is not running. */
  get runningForMs(): number {
    return this.#state === 'CONTAINER_RUNNING' ? this.#context.clock.monotonic() - this.#runsSince : -1;
  }

  summary(): Container {
    return {
      id: this.id,
      podSandboxId: this.sandboxId,
      metadata: this.config.metadata,
      image: this.config.image,
      imageRef: this.#context.imageRef,
      state: this.#state,
      createdAt: this.#createdAt,
      labels: this.config.labels,
      annotations: this.config.annotations,
    };
  }

  status(): ContainerStatus {
    const { podSandboxId: _, ...summary } = this.summary();
    return {
      ...summary,
      startedAt: this.#startedAt,
      finishedAt: this.#finishedAt,
      exitCode: this.#exitCode,
      reason: this.#reason,
      message: this.#message,
      mounts: this.config.mounts,
      logPath: this.logPath,
    };
  }
}
