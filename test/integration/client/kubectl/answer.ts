/** What a program answers to a command, without what differs from run to run. */

export interface Answer {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

export interface Variable {
  /** Folder of the files. */
  readonly folder: string;
  /** `127.0.0.1:6443`. */
  readonly server: string;
}

/** Replaces ages, times, identifiers and places by words, and the program's name by the other's. */
export function steady({ out, err, code }: Answer, variable: Variable): Answer {
  return { out: steadyText(out, variable), err: steadyText(err, variable), code };
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const colors = /\x1b\[[0-9;]*m/g;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

function steadyText(text: string, { folder, server }: Variable): string {
  return text
    .replaceAll(colors, '')
    .replaceAll(folder, 'FOLDER')
    .replaceAll(server, 'SERVER')
    .replaceAll(uuid, 'UID')
    .replaceAll(time, 'TIME')
    .replaceAll(/(resourceVersion"?: )"\d+"/g, '$1"VERSION"')
    .replaceAll(/^[WE]\d{4} .*\n/gm, '')
    .replaceAll(/^See https:\/\/kubernetes\.io\/.*\n/gm, '')
    .replaceAll(/(?<=[ ])\d+(s|ms|m\d+s)(?= |$)/gm, 'AGE')
    .replaceAll(/ +AGE */g, ' AGE ')
    .replaceAll(/\bkubectl\b(?!\.kubernetes)/g, 'orchctl');
}
