/** A virtual machine of qemu, started from an image of `hack/vm-image.sh`. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { Channel, type CommandResult } from '#test/vm/machine/channel.js';

export interface MachineOptions {
  /** Folder of `hack/vm-image.sh`. */
  readonly image: string;
  /** Folder for disk, sockets and log of this machine. */
  readonly folder: string;
  /** Disks that the machine can only read, in the order vdb, vdc … */
  readonly readOnly?: readonly string[];
  /** Port of this machine's loopback interface that leads to the API server in the machine. */
  readonly apiPort: number;
}

/**
 * Whether qemu can use the processor itself. A machine whose processor does not show virtualization may have /dev/kvm all the
 * same, for guests whose kernels cooperate; Debian's does not, and hangs there.
 */
export const hasKVM = (() => {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return /^flags\s*:.* (?:vmx|svm)( |$)/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
  } catch {
    return false;
  }
})();

/** Deadlines are for KVM; emulation is slower by about this factor. */
export const slowness = hasKVM ? 1 : 12;
const bootMs = 90_000;
const pollMs = 250;

export class Machine {
  readonly #options: MachineOptions;
  #process: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #channel: Channel | undefined;
  #bootID: string | undefined;

  constructor(options: MachineOptions) {
    this.#options = options;
  }

  /** Path of what the kernel and systemd printed. */
  get console(): string {
    return join(this.#options.folder, 'console.log');
  }

  get isOn(): boolean {
    return this.#process !== undefined;
  }

  /** Starts it; its disk continues where the last boot ended. */
  async boot(): Promise<void> {
    const { image, folder } = this.#options;
    const disk = join(folder, 'disk.qcow2');
    if (!existsSync(disk))
      execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', resolve(image, 'disk.raw'), disk]);
    const child = spawn('qemu-system-x86_64', this.#arguments(disk), { stdio: ['ignore', 'inherit', 'inherit'] });
    this.#process = child;
    this.#exited = new Promise((resolve) => {
      child.once('close', () => {
        this.#process = undefined;
        this.#channel?.close();
        resolve();
      });
    });
    this.#channel = await this.#open(join(folder, 'port.sock'));
    this.#bootID = await this.#channel.greeting(bootMs * slowness);
  }

  async #open(path: string): Promise<Channel> {
    const deadline = realClock.monotonic() + 30_000;
    for (;;) {
      try {
        return await Channel.open(path);
      } catch (error) {
        if (!this.isOn || realClock.monotonic() > deadline) throw error;
        await realClock.sleep(50);
      }
    }
  }

  #arguments(disk: string): string[] {
    const { image, folder, readOnly = [], apiPort } = this.#options;
    const drive = (file: string, more: string) => ['-drive', `if=virtio,file=${file},${more}`];
    return [
      ...['-accel', hasKVM ? 'kvm' : 'tcg,thread=multi', '-cpu', hasKVM ? 'host' : 'max', '-m', '2048', '-smp', '2'],
      ...['-nodefaults', '-no-user-config', '-display', 'none', '-monitor', 'none'],
      ...['-kernel', join(image, 'kernel'), '-initrd', join(image, 'initrd')],
      ...['-append', 'root=/dev/vda rw console=ttyS0 net.ifnames=0 panic=1'],
      ...drive(disk, 'format=qcow2,cache=unsafe,discard=unmap'),
      ...readOnly.flatMap((file) => drive(file, 'format=raw,readonly=on')),
      ...['-device', 'virtio-serial', '-device', 'virtio-rng-pci'],
      ...['-chardev', `socket,id=port,path=${join(folder, 'port.sock')},server=on,wait=off`],
      ...['-device', 'virtserialport,chardev=port,name=orch.test'],
      ...['-chardev', `file,id=console,path=${this.console},append=on`, '-serial', 'chardev:console'],
      // An address for the node, no way out, and one way in.
      ...['-netdev', `user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:${apiPort}-:6443`],
      ...['-device', 'virtio-net-pci,netdev=net'],
    ];
  }

  /** Runs a script of bash to its end. */
  run(command: string, timeoutMs = 60_000): Promise<CommandResult> {
    if (this.#channel === undefined) throw new Error('the machine is off');
    return this.#channel.run(command, timeoutMs * slowness);
  }

  /** The standard output of a script; throws when it fails. */
  async sh(command: string, timeoutMs?: number): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, timeoutMs);
    if (code !== 0) throw new Error(`exit code ${code} of: ${command}\n${stderr.slice(-4000)}${stdout.slice(-2000)}`);
    return stdout.trim();
  }

  /** Repeats a script until its output passes; throws with the last output after the time limit. */
  async until(command: string, passes: (output: string) => boolean, timeoutMs = 60_000): Promise<string> {
    const deadline = realClock.monotonic() + timeoutMs * slowness;
    for (;;) {
      const { code, stdout, stderr } = await this.run(command, timeoutMs);
      if (code === 0 && passes(stdout.trim())) return stdout.trim();
      if (realClock.monotonic() > deadline)
        throw new Error(`not within ${timeoutMs / 1000} s: ${command}\n${stdout.slice(-3000)}${stderr.slice(-3000)}`);
      await realClock.sleep(pollMs);
    }
  }

  /** Restarts it by systemd, and waits until it is up again. */
  async reboot(timeoutMs = 180_000): Promise<void> {
    const channel = this.#channel;
    if (channel === undefined) throw new Error('the machine is off');
    await this.sh('systemctl --no-block reboot');
    this.#bootID = await channel.greeting(timeoutMs * slowness, this.#bootID);
  }

  /** Turns it off by systemd. Throws when it is still on after the time limit. */
  async powerOff(timeoutMs = 180_000): Promise<void> {
    await this.sh('systemctl --no-block poweroff');
    await Promise.race([this.#exited, realClock.sleep(timeoutMs * slowness)]);
    if (this.isOn) throw new Error(`the machine is still on after ${timeoutMs / 1000} s`);
  }

  /** Takes its power away. */
  async kill(): Promise<void> {
    this.#process?.kill('SIGKILL');
    await this.#exited;
  }
}
