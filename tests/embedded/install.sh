#!/bin/sh
# Installs what the rig needs, where it is not there yet: cross compilers and emulators of Debian or Ubuntu.
set -eu
packages="gcc libc6-dev gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib gcc-riscv64-unknown-elf
  picolibc-riscv64-unknown-elf qemu-system-arm qemu-system-misc cmake gcc-powerpc-linux-gnu libc6-dev-powerpc-cross
  qemu-user clang gcc-avr avr-libc gcc-xtensa-lx106 picolibc-xtensa-lx106-elf cppcheck"
missing=
for tool in gcc arm-none-eabi-g++ riscv64-unknown-elf-gcc qemu-system-arm qemu-system-riscv32 cmake \
  powerpc-linux-gnu-gcc qemu-ppc clang avr-gcc xtensa-lx106-elf-gcc cppcheck; do
  command -v "$tool" >/dev/null || missing="$missing $tool"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing:$missing" >&2
  echo "install as root, where there is apt: apt-get install" $packages >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends $packages
