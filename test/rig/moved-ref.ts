/** Somebody moves a ref in the moment between a look at it and what git is asked to do with it. */
import { execFileSync } from 'node:child_process';
import { folder, type Repo, writeScript } from './repo.ts';

export interface Beforehand {
  /** Part of the command line of git that comes too late. */
  readonly git: string;
  readonly project: Pick<Repo, 'dir'>;
  readonly ref: string;
  /** Anything that git finds there. */
  readonly to: string;
}

/** A PATH whose git does it, once. */
export function moveBeforehand({ git, project, ref, to }: Beforehand): string {
  const bin = folder();
  const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const move = `mkdir '${bin.path('moved')}' 2>/dev/null && ${real} -C '${project.dir}' update-ref '${ref}' ${to}`;
  writeScript(bin.path('git'), `case "$*" in *'${git}'*) ${move} ;; esac\nexec ${real} "$@"`);
  return `${bin.dir}:${process.env.PATH}`;
}
