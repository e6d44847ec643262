import { createHash } from 'node:crypto'
import type { MailboxFs } from './ports.ts'

/**
 * Where everything is. No string from outside is ever a path segment: session ids are hashed, labels match their
 * grammar, ids are ours.
 */
export interface RootPaths {
  readonly drover: string
  readonly mailboxes: string
  readonly sessions: string
  /** The lease under which stale claims are taken away, one at a time. */
  readonly takeover: string
  readonly results: string
  readonly ballast: string
  /** The lease under which files of the person are changed, one change at a time. Made when it is first needed. */
  readonly editing: string
}

export interface OwnerPaths {
  readonly directory: string
  readonly lease: string
  readonly labels: string
  readonly drafts: string
  readonly starting: string
  readonly settled: string
}

export interface GenerationPaths {
  readonly directory: string
  readonly file: string
  readonly owner: string
  readonly agent: string
  readonly ownerDrafts: string
  readonly agentDrafts: string
  readonly ready: string
  readonly activity: string
  readonly activityFile: string
  readonly errorLog: string
  readonly quarantine: string
}

export function rootPaths(agentDirectory: string): RootPaths {
  const drover = `${agentDirectory}/drover`
  const mailboxes = `${drover}/mailboxes-v4`
  return {
    drover,
    mailboxes,
    sessions: `${mailboxes}/sessions`,
    takeover: `${mailboxes}/takeover`,
    results: `${drover}/results`,
    ballast: `${drover}/ballast`,
    editing: `${drover}/editing`,
  }
}

/** Everything of one owner session lies below one directory, so no cost depends on how many others there are. */
export function ownerPaths(root: RootPaths, ownerSession: string): OwnerPaths {
  return ownerDirectory(root, hashedName(ownerSession))
}

/** The paths of an owner whose directory is known by its name alone. */
export function ownerDirectory(root: RootPaths, name: string): OwnerPaths {
  const directory = `${root.mailboxes}/${name}`
  return {
    directory,
    lease: `${directory}/lease`,
    labels: `${directory}/labels`,
    drafts: `${directory}/drafts`,
    starting: `${directory}/starting`,
    settled: `${directory}/settled`,
  }
}

/** @param parent the owner's directory, or its `starting` or `settled` */
export function generationPaths(parent: string, generation: string): GenerationPaths {
  const directory = `${parent}/${generation}`
  return {
    directory,
    file: `${directory}/generation.json`,
    owner: `${directory}/owner`,
    agent: `${directory}/agent`,
    ownerDrafts: `${directory}/drafts/owner`,
    agentDrafts: `${directory}/drafts/agent`,
    ready: `${directory}/agent/ready.json`,
    activity: `${directory}/activity`,
    activityFile: `${directory}/activity/activity.json`,
    errorLog: `${directory}/activity/stderr.log`,
    quarantine: `${directory}/quarantine`,
  }
}

export function sessionClaimPath(root: RootPaths, session: string): string {
  return `${root.sessions}/${hashedName(session)}`
}

export function resultPath(root: RootPaths, generation: string): string {
  return `${root.results}/${generation}.md`
}

/** The directory in which a path of ours lies. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}

const alphabetSize = 36n
const nameLength = 26

/** 26 characters of 0-9a-z that stand for any text: 134 bits of its SHA-256. */
export function hashedName(text: string): string {
  const digest = BigInt(`0x${createHash('sha256').update(text).digest('hex')}`)
  return (digest % alphabetSize ** BigInt(nameLength)).toString(36).padStart(nameLength, '0')
}

const ownName = /^[0-9a-z]{26}$/

/** What lies in a directory under a name of ours: owners in the root, generations in an owner's directory. */
export function ownNames(fs: MailboxFs, directory: string): readonly string[] {
  return (fs.list(directory) ?? []).filter((name) => ownName.test(name)).sort()
}

/** Makes the directories every owner shares, or refuses those that are not ours and private. */
export function prepareRoot(fs: MailboxFs, root: RootPaths): void {
  prepare(fs, [root.drover, root.mailboxes, root.sessions, root.takeover, root.results])
}

export function prepareOwner(fs: MailboxFs, owner: OwnerPaths): void {
  prepare(fs, [
    owner.directory,
    owner.lease,
    owner.labels,
    owner.drafts,
    owner.starting,
    owner.settled,
  ])
}

export function prepareGeneration(fs: MailboxFs, paths: GenerationPaths): void {
  prepare(fs, [
    paths.directory,
    paths.owner,
    paths.agent,
    `${paths.directory}/drafts`,
    paths.ownerDrafts,
    paths.agentDrafts,
    paths.activity,
    paths.quarantine,
  ])
}

function prepare(fs: MailboxFs, directories: readonly string[]): void {
  for (const directory of directories)
    if (fs.makeDirectory(directory) === 'exists') fs.verifyDirectory(directory)
}
