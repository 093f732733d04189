/**
 * A filter for bubblewrap that forbids the calls for the keyrings of the kernel. All that is started from one login has a keyring in common,
 * which no namespace divides: what one command puts there, the next one finds.
 */
import { endianness } from 'node:os';

/** By machine, as the kernel numbers it: the first of three calls in a row, to add a key, to ask for one, and all else. */
const FIRST_CALL: readonly (readonly [machine: number, call: number])[] = [
  [0xc000003e, 248], // x86-64
  [0x40000003, 286], // x86
  [0xc00000b7, 217], // ARM, 64 bits
  [0x40000028, 309], // ARM
  [0xc00000f3, 217], // RISC-V
];

/** Of one machine two kinds of programs number them alike, and this sets the second kind apart. */
const ANY_KIND = 0xbfffffff;

const [LOAD, AND, IF_EQUAL, IF_AT_LEAST, RETURN] = [0x20, 0x54, 0x15, 0x35, 0x06];
const [CALL, MACHINE] = [0, 4];
const ALLOW = 0x7fff0000;
/** As in a kernel that has no keyrings: `ENOSYS`. */
const NOT_THERE = 0x00050000 + 38;

type Step = readonly [code: number, value: number, ifSo?: number, ifNot?: number];

const forbid = ([machine, first]: readonly [number, number]): readonly Step[] => [
  [IF_EQUAL, machine, 0, 6],
  [LOAD, CALL],
  [AND, ANY_KIND],
  [IF_AT_LEAST, first + 3, 1, 0],
  [IF_AT_LEAST, first, 1, 0],
  [RETURN, ALLOW],
  [RETURN, NOT_THERE],
];

/** A program for the kernel; undefined: its machine reads numbers the other way round, and none of those above does. */
export function filterKeyCalls(): Buffer | undefined {
  if (endianness() !== 'LE') return undefined;
  const steps: readonly Step[] = [[LOAD, MACHINE], ...FIRST_CALL.flatMap(forbid), [RETURN, ALLOW]];
  return Buffer.concat(
    steps.map(([code, value, ifSo = 0, ifNot = 0]) => {
      const step = Buffer.alloc(8);
      step.writeUInt16LE(code, 0);
      step.set([ifSo, ifNot], 2);
      step.writeUInt32LE(value, 4);
      return step;
    }),
  );
}
